// A contract for programs: JSON with everything the tables say (docs/schema/contract.schema.json), and the one text
// its digest is made of.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "contract/contract.h"

namespace tokitai {

// What a call must fulfil before anything is written, a sentence each: what follows from the tables, then the
// contract's own conditions.
std::vector<std::string> requirements(const Contract& contract);

// Fields in the order people read them.
nlohmann::ordered_json to_json(const Contract& contract);

// A document as one text that anyone can make again: keys in the order of their bytes, no white space, UTF-8 as it
// is (what is none is replaced), integers in decimal, other numbers as the shortest decimal that reads back as the
// same binary64.
std::string canonical(const nlohmann::json& document);

}  // namespace tokitai
