#include "cli/follow.h"

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "cli/waiter.h"
#include "format/entry_json.h"
#include "format/json_printer.h"
#include "view/entry_lines.h"
#include "view/text.h"

namespace pawl::cli {

namespace {

// How often to look where nobody tells of changes.
constexpr int kLookEveryMs = 1000;
// Between two looks, however much happens.
constexpr std::chrono::milliseconds kPause(20);

class Follower {
 public:
  Follower(Console& console, store::RunRow row, const FollowOptions& options)
      : console_(console), options_(options), row_(std::move(row)) {
    begin_run();
  }

  // Prints what is new. True: all is over.
  Result<bool> look(store::Store& store);

 private:
  void begin_run() {
    lines_.emplace(row_, options_.view);
    has_head_ = false;
    compensations_.clear();
    status_.clear();
  }
  Result<void> print_head(store::Store& store);
  Result<void> print_entries(store::Store& store);
  Result<void> print_compensations(store::Store& store);
  Result<void> print_status(store::Store& store);
  void print(std::string_view text) { console_.print(text); }
  void remark(const view::Line& line) {
    if (!options_.as_jsonl) {
      print(lines_->remark(line));
    }
  }

  Console& console_;
  const FollowOptions& options_;
  store::RunRow row_;
  std::optional<view::EntryLines> lines_;  // Of this run.
  bool has_head_ = false;
  std::vector<store::CompensationRow> compensations_;
  std::string status_;  // The last one that was told.
};

Result<bool> Follower::look(store::Store& store) {
  while (true) {
    // The row first: of a run that is closed by then, all entries are there.
    PAWL_TRY_ASSIGN(std::optional<store::RunRow> row, store.find_run(row_.key));
    if (!row) {
      return make_error(ErrorCode::kNotFound, "the run '" + row_.id + "' has been deleted");
    }
    row_ = *std::move(row);
    if (!has_head_) {
      PAWL_TRY(print_head(store));
    }
    PAWL_TRY(print_entries(store));
    PAWL_TRY(print_compensations(store));
    PAWL_TRY(print_status(store));
    console_.flush();
    if (!store::is_closed(row_.status)) {
      return false;
    }
    if (row_.status != store::RunStatus::kRecurred) {
      return true;
    }
    PAWL_TRY_ASSIGN(std::optional<store::RunRow> next, store.find_run(row_.id, row_.number + 1));
    if (!next) {
      return true;
    }
    row_ = *std::move(next);
    begin_run();
    if (!options_.as_jsonl) {
      print("\n");
    }
  }
}

Result<void> Follower::print_head(store::Store& store) {
  has_head_ = true;
  if (options_.as_jsonl) {
    return {};
  }
  view::History history;
  history.row = row_;
  PAWL_TRY_ASSIGN(history.input, store.read_input(row_.key));
  PAWL_TRY_ASSIGN(history.tags, store.read_tags(row_.key));
  if (row_.parent.run != 0) {
    PAWL_TRY_ASSIGN(history.parent, store.find_run(row_.parent.run));
  }
  view::HistoryOptions options = options_.view;
  options.now_ms = console_.now_ms();
  print(view::history_head(history, options) + "\n");
  return {};
}

Result<void> Follower::print_entries(store::Store& store) {
  const bool is_first = lines_->next_seq() == 1;
  const std::size_t lines_max = is_first ? options_.view.lines_max : 0;
  std::deque<std::string> last;
  std::size_t left_out = 0;
  PAWL_TRY(
      store.read_log(row_.key, lines_->next_seq(), [&](const replay::Entry& entry) -> Result<void> {
        PAWL_TRY_ASSIGN(std::string line, lines_->add(entry));
        if (options_.as_jsonl) {
          line = format::print_json(format::entry_to_json(entry)) + "\n";
        }
        if (lines_max == 0) {
          print(line);
          return {};
        }
        last.push_back(std::move(line));
        if (last.size() > lines_max) {
          last.pop_front();
          ++left_out;
        }
        return {};
      }));
  if (left_out > 0) {
    remark(view::Line().add("… " + view::count_text(left_out, "entry is", "entries are") +
                            " left out"));
  }
  for (const std::string& line : last) {
    print(line);
  }
  return {};
}

// They are no entries: the run's code is over when they run.
Result<void> Follower::print_compensations(store::Store& store) {
  if (options_.as_jsonl || (row_.status != store::RunStatus::kCompensating &&
                            compensations_.empty() && !store::is_closed(row_.status))) {
    return {};
  }
  PAWL_TRY_ASSIGN(std::vector<store::CompensationRow> now, store.read_compensations(row_.key));
  for (std::size_t i = now.size(); i-- > 0;) {  // The last one runs first.
    const store::CompensationRow before =
        i < compensations_.size() ? compensations_[i] : store::CompensationRow();
    const store::CompensationRow& row = now[i];
    if (row.attempt == before.attempt && row.state == before.state) {
      continue;
    }
    view::Line line;
    line.add("compensation ")
        .add(view::line_text(row.name, options_.view.payload_chars_max), view::Tone::kStrong);
    if (row.state == store::CompensationState::kDone) {
      line.add(" done", view::Tone::kGood);
    } else {
      line.add(row.state == store::CompensationState::kFailed
                   ? " failed: "
                   : ", attempt " + std::to_string(row.attempt) + " failed: ",
               view::Tone::kBad);
      line.add_value(view::failure_text(row.outcome, options_.view.payload_chars_max),
                     view::Tone::kBad);
    }
    remark(line);
  }
  compensations_ = std::move(now);
  return {};
}

Result<void> Follower::print_status(store::Store& store) {
  if (options_.as_jsonl || row_.status == store::RunStatus::kRunning) {
    return {};  // Too often to be told.
  }
  std::string status = store::status_text(row_.status, row_.waiting_for);
  if (status == status_) {
    return {};
  }
  status_ = std::move(status);
  view::Line line;
  line.add(view::line_text(status_, options_.view.payload_chars_max), view::tone_of(row_.status));
  if (store::is_closed(row_.status)) {
    line.add(" after " + view::duration_text(row_.changed_ms - row_.created_ms));
  }
  remark(line);
  if (row_.status == store::RunStatus::kBlocked) {
    PAWL_TRY_ASSIGN(const std::string reason, store.read_reason(row_.key));
    print(view::reason_text(reason, options_.view.in_color));
  }
  return {};
}

}  // namespace

Result<void> follow(Console& console,
                    const std::function<Result<std::unique_ptr<store::Store>>()>& open,
                    store::RunRow row, const FollowOptions& options) {
  Waiter waiter;
  Follower follower(console, std::move(row), options);
  std::unique_ptr<store::Store> store;
  while (console.can_print()) {
    store.reset();  // Its watch ends first.
    Result<bool> is_over = [&]() -> Result<bool> {
      PAWL_TRY_ASSIGN(store, open());
      // Before the look, so that nothing is lost.
      store->watch([&waiter](store::Store::Change) { waiter.wake(); });
      return follower.look(*store);
    }();
    if (!is_over && is_over.error().code != ErrorCode::kStoreBusy) {
      return is_over.error();
    }
    if (is_over && *is_over) {
      break;
    }
    const Waiter::Why why = waiter.wait(kLookEveryMs);
    if (why == Waiter::Why::kInterrupted || why == Waiter::Why::kNobodyReads) {
      break;
    }
    std::this_thread::sleep_for(kPause);
  }
  return {};
}

}  // namespace pawl::cli
