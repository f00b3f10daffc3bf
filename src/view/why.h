// Why a run does not go on: what it waits for, since when, who could serve it, and what to do about
// it. Pure functions of what is stored.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/catalog.h"
#include "view/run_details.h"

namespace pawl::view {

struct Finding {
  // What is the matter, for programs: ended, paused, blocked, compensating, running, unclaimed,
  // signal, promise, timer, task, child, operation, waiting, inbox, workers.
  std::string code;
  std::string what;  // "waits for the signal 'approved'".
  std::optional<std::int64_t> since_ms = {};
  std::optional<std::int64_t> until_ms = {};  // When it goes on by itself.
  std::string who = {};     // Who could serve it: "host:17 has the kind 'fulfil'". May be empty.
  std::string advice = {};  // What to do; empty: nothing.
};

// Names may hold anything; texts are fit for one line. At most kFindingsMax; the last one says how
// many more there are.
std::vector<Finding> find_why(const RunDetails& details, std::span<const store::WorkerRow> workers,
                              std::int64_t now_ms);
inline constexpr std::size_t kFindingsMax = 50;

}  // namespace pawl::view
