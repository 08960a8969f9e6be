// The files of one bundle: evidence.json, report.md, report.html. The reports are subjects of the evidence.
#pragma once
#include <vector>

#include "evidence/statement.h"

namespace tokitai::evidence {

inline constexpr const char* kEvidenceFile = "evidence.json";
inline constexpr const char* kReportFiles[] = {"report.md", "report.html"};

std::vector<ReportFile> bundle(const Predicate& predicate, const PrivateKey* key);

}  // namespace tokitai::evidence
