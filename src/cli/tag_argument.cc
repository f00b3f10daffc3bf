#include "cli/tag_argument.h"

#include <algorithm>

namespace pawl::cli {

Result<std::vector<store::Tag>> parse_tags(const std::vector<std::string>& arguments) {
  std::vector<store::Tag> tags;
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos || equals == 0) {
      return make_error(ErrorCode::kInvalidArgument,
                        "--tag: NAME=VALUE is wanted, not '" + argument + "'");
    }
    tags.push_back({argument.substr(0, equals), argument.substr(equals + 1)});
  }
  return tags;
}

}  // namespace pawl::cli
