#include "cli/confirm.h"

#include <cstdio>
#include <iostream>

namespace pawl::cli {

Result<bool> confirm(Console& console, const std::string& question, bool is_yes) {
  if (is_yes) {
    return true;
  }
  if (!console.is_interactive()) {
    return make_error(ErrorCode::kInvalidArgument,
                      question + " Nobody can be asked here; say --yes if that is meant");
  }
  std::fprintf(stderr, "%s [y/N] ", question.c_str());
  std::fflush(stderr);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace pawl::cli
