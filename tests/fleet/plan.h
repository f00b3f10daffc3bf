// Which run has which program: the same in every process that knows the seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "fleet/program.h"

namespace pawl::fleet {

inline std::string run_id(std::size_t number) { return "run-" + std::to_string(number); }

inline nlohmann::json program_of(std::uint64_t seed, std::size_t number) {
  property::Rng rng(seed * 1'000'003 + number);
  return make_program(rng);
}

}  // namespace pawl::fleet
