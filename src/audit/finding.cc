#include "audit/finding.h"

namespace pawl::audit {

std::string place_of(const Finding& finding) {
  if (finding.run == 0) {
    return "the database";
  }
  std::string place = finding.id.empty() ? "run with the key " + std::to_string(finding.run)
                                         : "run '" + finding.id + "'";
  if (finding.number > 1) {
    place += ", number " + std::to_string(finding.number);
  }
  if (finding.seq.has_value()) {
    place += ", seq " + std::to_string(*finding.seq);
  }
  return place;
}

}  // namespace pawl::audit
