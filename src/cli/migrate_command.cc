// pawl migrate
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "cli/arguments.h"
#include "cli/check_report.h"
#include "cli/checked_program.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/confirm.h"
#include "cli/exit_codes.h"
#include "cli/json_output.h"
#include "cli/progress.h"
#include "cli/store_access.h"
#include "moving/copy.h"
#include "moving/move.h"
#include "moving/verify.h"
#include "view/text.h"

namespace pawl::cli {

namespace {

namespace json = boost::json;

constexpr std::int64_t kTimeoutMax = 24 * 3600;
constexpr std::size_t kSampleMax = 1'000'000;

struct Arguments {
  std::string from;
  std::string to;
  std::size_t sample = 100;
  std::uint64_t seed = 0;
  std::string program;
  std::vector<std::string> program_arguments;
  std::int64_t timeout_s = 10;
  bool reopens = false;
  bool is_yes = false;
};

struct Summary {
  moving::Copied copied;
  std::size_t sampled = 0;
  std::size_t replayed = 0;
};

// Asks the program about a run, as `pawl check` does.
class Replayer {
 public:
  explicit Replayer(const Arguments& arguments) {
    std::vector<std::string> command{arguments.program};
    command.insert(command.end(), arguments.program_arguments.begin(),
                   arguments.program_arguments.end());
    program_ = std::make_unique<CheckedProgram>(std::move(command),
                                                std::chrono::seconds(arguments.timeout_s));
  }

  Result<void> start() { return program_->start(); }

  // Runs that have ended, and those of kinds that the program does not have, are none of its
  // business.
  Result<std::optional<std::string>> replay(const portable::RunDocument& run) {
    std::string request = portable::to_json(run);
    std::ranges::replace(request, '\n', ' ');  // There is none inside of a text of JSON.
    PAWL_TRY_ASSIGN(const CheckedProgram::Reply reply, program_->ask(request));
    if (!reply.trouble.empty() && reply.answer.empty()) {
      return std::optional("the program could not replay it: " + reply.trouble);
    }
    switch (outcome_of(reply.answer, run.image.row.status)) {
      case CheckOutcome::kFits:
        ++count_;
        return std::optional<std::string>();
      case CheckOutcome::kMisfit:
        return std::optional<std::string>("the program does not fit it; `pawl check` says more");
      case CheckOutcome::kUnchecked:
      case CheckOutcome::kEnded:
        return std::optional<std::string>();
    }
    return std::optional<std::string>();
  }

  std::size_t count() const { return count_; }

 private:
  std::unique_ptr<CheckedProgram> program_;
  std::size_t count_ = 0;
};

// What was copied stays: the next call goes on there.
Error to_be_continued(const Error& error) {
  return make_error(error.code, error.message + "; call the same command again to go on");
}

Error not_the_same(const std::string& sentence) {
  return make_error(ErrorCode::kInvalidState,
                    "the target is not what the source is, and stays closed: " + sentence);
}

class Migration {
 public:
  Migration(Console& console, const Arguments& arguments, store::MovableStore& from,
            store::MovableStore& to)
      : console_(console), arguments_(arguments), from_(from), to_(to) {}

  // An exit code, or an error.
  Result<int> run(moving::Move& move, Replayer* replayer) {
    PAWL_TRY_ASSIGN(const moving::Move::Begun begun, move.begin());
    if (begun == moving::Move::Begun::kDoneBefore) {
      return tell_done_before();
    }
    if (const Result<void> copied = copy(move.seal()); !copied) {
      return to_be_continued(copied.error());
    }
    Result<std::optional<std::string>> difference = verify(replayer);
    if (!difference) {
      return to_be_continued(difference.error());
    }
    if (difference->has_value()) {
      console_.tell(not_the_same(**difference));
      return kExitMisfits;
    }
    if (const Result<void> finished = move.finish(); !finished) {
      return to_be_continued(finished.error());
    }
    tell_done();
    return kExitOk;
  }

 private:
  Result<void> copy(const std::string& seal) {
    PAWL_TRY_ASSIGN(const std::int64_t total, from_.catalog().count_runs({}));
    Progress progress(console_, "moving", total);
    PAWL_TRY_ASSIGN(summary_.copied, moving::copy_runs(from_, to_, seal, [&](const auto& copied) {
                      progress.show(copied.runs);
                    }));
    return {};
  }

  // A sentence about what is not the same.
  Result<std::optional<std::string>> verify(Replayer* replayer) {
    PAWL_TRY_ASSIGN(std::optional<std::string> difference, moving::compare_counts(from_, to_));
    if (difference.has_value()) {
      return difference;
    }
    moving::SampleOptions options;
    options.size = arguments_.sample;
    options.seed = arguments_.seed;
    if (replayer != nullptr) {
      options.replay = [&](const portable::RunDocument& run) { return replayer->replay(run); };
    }
    Progress progress(console_, "comparing",
                      std::min(summary_.copied.runs, static_cast<std::int64_t>(options.size)));
    PAWL_TRY_ASSIGN(moving::SampleOutcome outcome,
                    moving::compare_sample(from_, to_, options,
                                           [&](std::int64_t done) { progress.show(done); }));
    summary_.sampled = outcome.runs;
    summary_.replayed = replayer == nullptr ? 0 : replayer->count();
    return std::move(outcome.difference);
  }

  void tell_done() {
    const moving::Copied& copied = summary_.copied;
    if (!console_.is_table()) {
      json::object object;
      object["runs"] = copied.runs;
      object["found"] = copied.found;
      object["entries"] = copied.entries;
      object["compared"] = summary_.sampled;
      object["seed"] = arguments_.seed;
      object["replayed"] = summary_.replayed;
      object["isNew"] = true;
      print_json(console_, object);
      return;
    }
    const auto count = [](auto number, std::string_view one, std::string_view many) {
      return view::count_text(static_cast<std::uint64_t>(number), one, many);
    };
    std::string text = "moved " + count(copied.runs, "run", "runs");
    if (copied.found > 0) {
      text += ", " + count(copied.found, "of which was", "of which were") + " there before,";
    }
    text += " with " + count(copied.entries, "entry", "entries");
    text += "; compared " + count(summary_.sampled, "run", "runs") + " in full";
    if (summary_.replayed > 0) {
      text += ", and replayed " + std::to_string(summary_.replayed) + " of them";
    }
    console_.print(text + "\n");
  }

  int tell_done_before() {
    if (console_.is_table()) {
      console_.print("all runs have moved there before; nothing was done\n");
    } else {
      json::object object;
      object["isNew"] = false;
      print_json(console_, object);
    }
    return kExitOk;
  }

  Console& console_;
  const Arguments& arguments_;
  store::MovableStore& from_;
  store::MovableStore& to_;
  Summary summary_;
};

Result<int> reopen(Console& console, const Arguments& arguments) {
  if (!arguments.to.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "--reopen is about one store: the source");
  }
  PAWL_TRY_ASSIGN(const auto store, open_to_move(arguments.from, MoveSide::kSource));
  PAWL_TRY_ASSIGN(const bool is_yes,
                  confirm(console,
                          "Work on the runs of this store again? Where they are in another store, "
                          "too, they would be executed twice.",
                          arguments.is_yes));
  if (!is_yes) {
    return kExitFailure;
  }
  PAWL_TRY_ASSIGN(const bool changed, moving::Move::reopen(*store));
  if (console.is_table()) {
    console.print(changed ? "the store is open again\n" : "the store was open; nothing was done\n");
  } else {
    json::object object;
    object["isReopened"] = changed;
    print_json(console, object);
  }
  return kExitOk;
}

Result<int> run(Console& console, Arguments& arguments) {
  if (arguments.reopens) {
    return reopen(console, arguments);
  }
  if (arguments.to.empty()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "name the store to move to, too, e.g. postgres://host/database");
  }
  if (arguments.seed == 0) {
    arguments.seed = std::random_device()();
  }
  std::optional<Replayer> replayer;
  if (!arguments.program.empty()) {
    replayer.emplace(arguments);
    PAWL_TRY(replayer->start());
  }
  PAWL_TRY_ASSIGN(const std::string from_place, store_place(arguments.from));
  PAWL_TRY_ASSIGN(const std::string to_place, store_place(arguments.to));
  if (from_place == to_place) {
    return make_error(ErrorCode::kInvalidArgument,
                      "both sides are the same namespace of the same store");
  }
  PAWL_TRY_ASSIGN(const auto from, open_to_move(arguments.from, MoveSide::kSource));
  moving::Side source{*from, from_place};
  // Before a target is made for nothing.
  PAWL_TRY(moving::Move::check_idle(source, "source", console.now_ms()));
  PAWL_TRY_ASSIGN(const auto to, open_to_move(arguments.to, MoveSide::kTarget));
  moving::Move move(source, {*to, to_place}, new_run_uuid(console.now_ms()).to_string(),
                    new_run_uuid(console.now_ms()).to_string(), console.now_ms());
  return Migration(console, arguments, *from, *to).run(move, replayer ? &*replayer : nullptr);
}

}  // namespace

void add_migrate_command(Frame& frame) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = frame.add(
      {.name = "migrate",
       .group = kOperate,
       .summary = "Move all runs from one store to another, open ones too.",
       .examples = "pawl migrate sqlite:app.db postgres://shop@db1/shop\n"
                   "pawl migrate postgres://shop@db1/shop sqlite:app.db --with build/shop\n"
                   "pawl migrate sqlite:app.db --reopen\n",
       .details = "No program may work on either. The target is made if it is not there, and must "
                  "have no runs.\nIt is closed until all is there and compared; the source keeps "
                  "what it has, and is closed\nfrom then on. Whatever interrupts the move: call "
                  "it again. docs/migrate.md says more.\n"
                  "Exit codes: 0 done, 5 the two are not the same, else as for all commands."},
      [arguments](Console& console) { return run(console, *arguments); });
  command->add_option("from", arguments->from, "URL of the store that has the runs")
      ->required()
      ->check(not_blank())
      ->type_name("FROM");
  command->add_option("to", arguments->to, "URL of the store that gets them")
      ->check(not_blank())
      ->type_name("TO");
  command->add_option("--sample", arguments->sample, "Runs to compare in full (default 100)")
      ->check(whole_number(kSampleMax))
      ->type_name("N");
  command->add_option("--seed", arguments->seed, "Chooses these runs (default: a random one)")
      ->check(whole_number(UINT32_MAX))
      ->type_name("N");
  command
      ->add_option("--with", arguments->program,
                   "A program that replays them; no activity of it is executed")
      ->check(not_blank())
      ->type_name("PROGRAM");
  command->add_option("--arg", arguments->program_arguments, "For the program; may be repeated")
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("TEXT");
  command->add_option("--timeout", arguments->timeout_s, "Seconds for one run (default 10)")
      ->check(whole_number(kTimeoutMax))
      ->type_name("S");
  command->add_flag("--reopen", arguments->reopens,
                    "The runs of FROM are to stay there: lets programs work on it again");
  command->add_flag("-y,--yes", arguments->is_yes, "Do not ask before --reopen");
  frame.add_output(command);
}

}  // namespace pawl::cli
