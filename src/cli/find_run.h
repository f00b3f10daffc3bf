// The run that a command is about, by what somebody has typed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "cli/frame.h"
#include "store/store.h"

namespace pawl::cli {

struct RunName {
  std::string id;
  std::uint32_t number = 0;  // 0: the newest run with this id.
};

// The arguments ID and --number.
void add_run_name(Frame& frame, CLI::App* command, RunName& name);
// --number alone.
void add_run_number(CLI::App* command, std::uint32_t& number);

enum class Match : std::uint8_t {
  kExact,   // For commands that change something: nothing happens to a run that was not named.
  kPrefix,  // The beginning of an id is enough if there is one such id only.
};

// kNotFound names ids that are close; kInvalidArgument those that begin like this, if it is a
// prefix of several.
Result<store::RunRow> find_run(store::Store& store, const RunName& name, Match match);

}  // namespace pawl::cli
