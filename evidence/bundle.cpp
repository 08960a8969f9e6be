#include "evidence/bundle.h"

#include "evidence/report_text.h"

namespace tokitai::evidence {

std::vector<ReportFile> bundle(const Predicate& predicate, const PrivateKey* key) {
  std::vector<ReportFile> files = {{kBundleFiles[1], report_markdown(predicate)},
                                   {kBundleFiles[2], report_html(predicate)}};
  files.insert(files.begin(), {kBundleFiles[0], evidence_text(predicate, files, key)});
  return files;
}

}  // namespace tokitai::evidence
