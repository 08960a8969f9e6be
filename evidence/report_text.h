// Reports for people, from what a bundle tells: Markdown, and one HTML page that needs nothing else.
#pragma once
#include <string>

#include "evidence/predicate.h"

namespace tokitai::evidence {

std::string report_markdown(const Predicate& predicate);
std::string report_html(const Predicate& predicate);

// What both say in the same words.
std::string verdict(const Predicate& predicate);  // one sentence
OperatorResult total(const Predicate& predicate);
std::string error_sentence(const ErrorFigures& figures);
std::string speed_sentence(const SpeedFigures& figures);
// For a table: the share of the copy bandwidth, or operations per second where arithmetic is the limit.
std::string speed_cell(const SpeedFigures& figures);

}  // namespace tokitai::evidence
