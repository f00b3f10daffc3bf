// Finding: something in a database that is not as it has to be. Value type.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "store/rows.h"

namespace pawl::audit {

struct Finding {
  std::string rule;                  // Its name, for tools: "unknown_owner". Stays the same.
  store::RunKey run = 0;             // 0: it is about no run.
  std::string id;                    // Of the run; empty if that is not there.
  std::uint32_t number = 0;          // The same.
  std::optional<std::uint64_t> seq;  // Where in its log.
  std::string what;                  // "is held by a worker that is not known"
  std::string advice;                // What to do about it.

  friend bool operator==(const Finding&, const Finding&) = default;
};

// "run 'a' (number 1, key 7), seq 5: … ".
std::string place_of(const Finding& finding);

}  // namespace pawl::audit
