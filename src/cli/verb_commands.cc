// pawl cancel, terminate, resume, pause, unpause, delete: each for runs that are named, or for all
// that a filter finds.
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/progress.h"
#include "cli/run_filter.h"
#include "cli/store_access.h"
#include "cli/targets.h"

namespace pawl::cli {

namespace {

// Operations of one commit: enough to share its cost, few enough to hold up nobody.
constexpr std::size_t kBatch = 100;

struct Arguments {
  Targets targets;
  std::string reason;
};

struct Verb {
  CommandTexts texts;
  std::string doing;  // "cancelling"
  std::string done;   // "cancelled"
  std::function<store::Op(const store::RunRow&, const Arguments&, std::int64_t now_ms)> make;
  // Why nothing was done; empty if it was.
  std::function<std::string(const store::Op&)> why_not;
  // What a filter without a status means.
  std::vector<store::RunStatus> statuses;
  bool has_reason = false;
};

std::string why_not_sent(store::SendOutcome outcome) {
  switch (outcome) {
    case store::SendOutcome::kSent:
      return "";
    case store::SendOutcome::kNoRun:
      return "gone";
    case store::SendOutcome::kDuplicate:
      return "done before";
    default:
      return "closed";
  }
}

template <class Op>
std::string why_not_applied(const store::Op& op) {
  return why_not_sent(std::get<Op>(op).outcome);
}

// --- Doing it ------------------------------------------------------------------------------------

class Work {
 public:
  Work(Console& console, store::Store& store, const Verb& verb, const Arguments& arguments,
       std::int64_t total)
      : console_(console),
        store_(store),
        verb_(verb),
        arguments_(arguments),
        progress_(console, verb.doing, total) {}

  Result<void> add(const store::RunRow& row) {
    rows_.push_back(row);
    ops_.push_back(verb_.make(row, arguments_, console_.now_ms()));
    return ops_.size() < kBatch ? Result<void>() : flush();
  }

  Result<void> flush() {
    if (ops_.empty()) {
      return {};
    }
    PAWL_TRY(apply_ops(store_, ops_));
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      const std::string why_not = verb_.why_not(ops_[i]);
      if (why_not.empty()) {
        tally_.add_done();
      } else {
        tally_.add_skipped(why_not, rows_[i].id);
      }
    }
    ops_.clear();
    rows_.clear();
    progress_.show(tally_.seen());
    return {};
  }

  bool has_skipped() const { return tally_.has_skipped(); }
  void report() { tally_.report(console_, verb_.done); }

 private:
  Console& console_;
  store::Store& store_;
  const Verb& verb_;
  const Arguments& arguments_;
  Progress progress_;
  std::vector<store::RunRow> rows_;
  std::vector<store::Op> ops_;
  Tally tally_;
};

// All of them are there, or nothing happens.
Result<int> do_named(Console& console, const Verb& verb, const Arguments& arguments) {
  PAWL_TRY_ASSIGN(const auto store, open_store(console, Access::kChange));
  PAWL_TRY_ASSIGN(const std::vector<store::RunRow> rows, find_named(*store, arguments.targets));
  Work work(console, *store, verb, arguments, static_cast<std::int64_t>(rows.size()));
  for (const store::RunRow& row : rows) {
    PAWL_TRY(work.add(row));
  }
  PAWL_TRY(work.flush());
  work.report();
  return work.has_skipped() ? kExitFailure : kExitOk;
}

Result<int> do_matching(Console& console, const Verb& verb, const Arguments& arguments) {
  PAWL_TRY_ASSIGN(const view::RunQuery query,
                  target_query(arguments.targets, console, verb.statuses));
  PAWL_TRY_ASSIGN(const auto store, open_store(console, Access::kChange));
  PAWL_TRY_ASSIGN(const std::int64_t count, count_matching(console, *store, query));
  PAWL_TRY_ASSIGN(const bool is_meant,
                  confirm_count(console, verb.texts.name, count, arguments.targets.yes));
  if (!is_meant) {
    return kExitFailure;
  }
  Work work(console, *store, verb, arguments, count);
  PAWL_TRY(search_runs(*store, query, {}, [&](const store::RunRow& row) -> Result<bool> {
    PAWL_TRY(work.add(row));
    return true;
  }));
  PAWL_TRY(work.flush());
  work.report();
  return kExitOk;
}

Result<int> run(Console& console, const Verb& verb, const Arguments& arguments) {
  PAWL_TRY(check_targets(arguments.targets));
  return arguments.targets.are_named() ? do_named(console, verb, arguments)
                                       : do_matching(console, verb, arguments);
}

// --- The verbs -----------------------------------------------------------------------------------

std::vector<Verb> all_verbs() {
  const std::vector<store::RunStatus> open = view::find_statuses("open");
  std::vector<Verb> verbs;
  verbs.push_back(
      {.texts = {.name = "cancel",
                 .group = kChange,
                 .summary = "Ask runs to end: their code may clean up, compensations run.",
                 .examples = "pawl cancel order-17 --reason 'not needed'\n"
                             "pawl cancel order-17 order-18\n"
                             "pawl cancel --kind fulfil --started-before 30d\n"},
       .doing = "cancelling",
       .done = "asked to end:",
       .make =
           [](const store::RunRow& row, const Arguments& arguments, std::int64_t now_ms) {
             store::Send op;
             op.run = row.key;
             op.run_id = row.id;
             op.arrival = cancel_arrival(arguments.reason);
             op.now_ms = now_ms;
             return store::Op(std::move(op));
           },
       .why_not = why_not_applied<store::Send>,
       .statuses = open,
       .has_reason = true});
  verbs.push_back(
      {.texts = {.name = "terminate",
                 .group = kChange,
                 .summary = "End runs at once: no code of theirs runs, and no compensation.",
                 .examples = "pawl terminate order-17 --reason 'wrong address'\n"
                             "pawl terminate --status blocked --kind fulfil --yes\n",
                 .aliases = {"kill"}},
       .doing = "terminating",
       .done = "terminated",
       .make =
           [](const store::RunRow& row, const Arguments& arguments, std::int64_t now_ms) {
             store::Terminate op;
             op.run = row.key;
             op.run_id = row.id;
             op.payload = terminated_payload(arguments.reason);
             op.now_ms = now_ms;
             return store::Op(std::move(op));
           },
       .why_not = why_not_applied<store::Terminate>,
       .statuses = open,
       .has_reason = true});
  verbs.push_back(
      {.texts = {.name = "resume",
                 .group = kChange,
                 .summary = "Let blocked runs go on: their code is tried again.",
                 .examples = "pawl resume order-17\n"
                             "pawl resume --kind fulfil --yes\n",
                 .details = "A run is blocked if its code does not fit its history, e.g. after a "
                            "deploy; see\n'pawl why'. To let a paused one go on: pawl unpause."},
       .doing = "resuming",
       .done = "resumed",
       .make =
           [](const store::RunRow& row, const Arguments&, std::int64_t now_ms) {
             store::Resume op;
             op.run = row.key;
             op.run_id = row.id;
             op.now_ms = now_ms;
             return store::Op(std::move(op));
           },
       .why_not = why_not_applied<store::Resume>,
       .statuses = {store::RunStatus::kBlocked}});
  const auto make_pause = [](bool is_paused) {
    return [is_paused](const store::RunRow& row, const Arguments&, std::int64_t now_ms) {
      store::Pause op;
      op.run = row.key;
      op.run_id = row.id;
      op.is_paused = is_paused;
      op.now_ms = now_ms;
      return store::Op(std::move(op));
    };
  };
  const auto why_not_paused = [](const char* before) {
    return [before](const store::Op& op) {
      const auto& pause = std::get<store::Pause>(op);
      const std::string why_not = why_not_sent(pause.outcome);
      return why_not.empty() && !pause.changed ? std::string(before) : why_not;
    };
  };
  verbs.push_back(
      {.texts = {.name = "pause",
                 .group = kChange,
                 .summary = "Hold runs where they are, until they are unpaused.",
                 .examples = "pawl pause order-17\n"
                             "pawl pause --kind fulfil --yes\n",
                 .details =
                     "What reaches a paused run waits in its inbox; tasks that are out go on."},
       .doing = "pausing",
       .done = "paused",
       .make = make_pause(true),
       .why_not = why_not_paused("paused before"),
       .statuses = open});
  verbs.push_back({.texts = {.name = "unpause",
                             .group = kChange,
                             .summary = "Let paused runs go on.",
                             .examples = "pawl unpause order-17\n"
                                         "pawl unpause --status paused --yes\n"},
                   .doing = "unpausing",
                   .done = "unpaused",
                   .make = make_pause(false),
                   .why_not = why_not_paused("not paused"),
                   .statuses = open});
  verbs.push_back(
      {.texts = {.name = "delete",
                 .group = kChange,
                 .summary = "Remove runs that have ended, with all that is stored of them.",
                 .examples = "pawl delete order-17\n"
                             "pawl delete --status completed --ended-before 30d --yes\n",
                 .details =
                     "An open run is not removed; terminate it first. Nor is one that an open "
                     "run has to\ndo with: its parent, a child, or one that it recurred to.",
                 .aliases = {"purge"}},
       .doing = "deleting",
       .done = "deleted",
       .make =
           [](const store::RunRow& row, const Arguments&, std::int64_t /*now_ms*/) {
             store::DeleteRun op;
             op.run = row.key;
             return store::Op(std::move(op));
           },
       .why_not = [](const store::Op& op) -> std::string {
         switch (std::get<store::DeleteRun>(op).outcome) {
           case store::DeleteRun::Outcome::kDeleted:
             return "";
           case store::DeleteRun::Outcome::kNoRun:
             return "gone";
           case store::DeleteRun::Outcome::kOpen:
             return "open";
           case store::DeleteRun::Outcome::kNeeded:
             return "an open run has to do with it";
         }
         return "";
       },
       .statuses = view::find_statuses("closed")});
  return verbs;
}

}  // namespace

void add_verb_commands(Frame& frame) {
  for (Verb& each : all_verbs()) {
    const auto verb = std::make_shared<Verb>(std::move(each));
    auto arguments = std::make_shared<Arguments>();
    CLI::App* command = frame.add(verb->texts, [verb, arguments](Console& console) {
      return run(console, *verb, *arguments);
    });
    add_targets(frame, command, arguments->targets);
    if (verb->has_reason) {
      command->add_option("--reason", arguments->reason, "Why, for whoever looks at the run")
          ->type_name("TEXT");
    }
    frame.add_shared(command);
  }
}

}  // namespace pawl::cli
