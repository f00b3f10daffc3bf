// pawl result
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "cli/arguments.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/find_run.h"
#include "cli/outcome_output.h"
#include "cli/store_access.h"
#include "view/moments.h"

namespace pawl::cli {

namespace {

// A file that nobody else had open when it was opened does not show what others do to it later, so
// it is opened again that often.
constexpr std::int64_t kLookMs = 500;

struct Arguments {
  RunName run;
  std::string timeout;
};

Result<int> run(Console& console, const Arguments& arguments) {
  std::int64_t limit_ms = -1;
  if (!arguments.timeout.empty()) {
    PAWL_TRY_ASSIGN(limit_ms, view::parse_duration(arguments.timeout));
  }
  PAWL_TRY_ASSIGN(auto store, open_store(console, Access::kLook));
  PAWL_TRY_ASSIGN(const store::RunRow row, find_run(*store, arguments.run, Match::kPrefix));
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  while (true) {
    const std::int64_t waited_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count();
    const std::int64_t left_ms =
        limit_ms < 0 ? kLookMs : std::clamp<std::int64_t>(limit_ms - waited_ms, 0, kLookMs);
    const Result<Outcome> outcome = wait_for_end(*store, row, left_ms);
    if (outcome) {
      return print_outcome(console, *outcome);
    }
    const bool is_over = limit_ms >= 0 && waited_ms + left_ms >= limit_ms;
    if (outcome.error().code != ErrorCode::kTimedOut || is_over) {
      return outcome.error();
    }
    PAWL_TRY_ASSIGN(store, open_store(console, Access::kLook));
  }
}

}  // namespace

void add_result_command(Frame& frame) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = frame.add(
      {.name = "result",
       .group = kInspect,
       .summary = "Wait for the end of a run, and print its result as JSON.",
       .examples = "pawl result order-17\n"
                   "pawl result order-17 --timeout 30s\n"
                   "pawl result order-17 --timeout 0s && echo it has completed\n",
       .details =
           "Of a run that has failed or was cancelled the error is printed on standard\n"
           "error, and the exit code is 3; if it has not ended in time, it is 1. A run that\n"
           "recurs is followed to its end."},
      [arguments](Console& console) { return run(console, *arguments); });
  add_run_name(frame, command, arguments->run);
  command
      ->add_option("--timeout", arguments->timeout,
                   "The longest wait, e.g. 30s; 0s: do not wait (default: none)")
      ->check(not_blank())
      ->type_name("DURATION");
  frame.add_store(command);
}

}  // namespace pawl::cli
