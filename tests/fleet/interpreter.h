// The workflow that runs programs of program.h, and its activities.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "pawl/pawl.hpp"

namespace pawl::fleet {

inline constexpr const char* kProgramKind = "program";
// Holds what was done in transactions; whoever makes the database makes it.
inline constexpr const char* kTransactedTable = "public.fleet_transacted";

// The input of the first run of a program.
nlohmann::json first_input(const nlohmann::json& program);

// Each attempt of an activity is noted by a line "executed|undone run label attempt" at the end of
// the file `notes`.
Registry make_registry(const std::string& notes);

}  // namespace pawl::fleet
