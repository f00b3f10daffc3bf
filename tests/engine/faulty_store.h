// FaultyStore: a store in front of another one, where a test can step in: refuse a batch, count
// what is asked for, or have something happen in between.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/store.h"

namespace pawl::engine {

class FaultyStore final : public store::Store {
 public:
  explicit FaultyStore(std::shared_ptr<store::Store> inner) : inner_(std::move(inner)) {}

  // An error is the batch's: nothing of it is done.
  std::function<Result<void>(std::span<store::Op> ops)> before_apply;
  std::function<void(std::span<store::Op> ops)> after_apply;
  // True: the batch is done, but whoever asked for it hears only that the connection was lost.
  std::function<bool(std::span<store::Op> ops)> loses_answer;
  std::function<Result<void>()> before_workers_change;
  // Entries that are in the log and that nobody finds there, as if an index were damaged.
  std::function<bool(const replay::Entry& entry)> hides;
  // What was read is on its way.
  std::function<void(std::size_t count)> after_read_due_inbox;

  std::function<void(store::ArrivalKey after)> before_read_inbox;
  std::atomic<std::size_t> finds_by_id = 0;
  std::atomic<std::size_t> questions = 0;                 // Calls of any kind, but for watch().
  std::function<std::optional<std::int64_t>()> clock_ms;  // The database's, if it is another one.

  Result<void> apply(std::span<store::Op> ops) override {
    if (before_apply) {
      PAWL_TRY(before_apply(ops));
    }
    const bool is_lost = loses_answer && loses_answer(ops);
    Result<void> applied = counted().apply(ops);
    if (after_apply) {
      after_apply(ops);
    }
    if (is_lost) {
      return make_error(ErrorCode::kUnknownOutcome, "lost the connection");
    }
    return applied;
  }
  Result<std::vector<store::Arrival>> read_due_inbox(store::RunKey run,
                                                     std::int64_t now_ms) override {
    Result<std::vector<store::Arrival>> inbox = counted().read_due_inbox(run, now_ms);
    if (after_read_due_inbox) {
      after_read_due_inbox(inbox ? inbox->size() : 0);
    }
    return inbox;
  }

  // --- As they are ---
  using Visit = std::function<Result<void>(const replay::Entry&)>;

  Result<store::WorkerKey> add_worker(const store::WorkerInfo& info) override {
    PAWL_TRY(before_workers_change ? before_workers_change() : Result<void>());
    return counted().add_worker(info);
  }
  Result<void> remove_worker(store::WorkerKey worker, std::int64_t now_ms) override {
    PAWL_TRY(before_workers_change ? before_workers_change() : Result<void>());
    return counted().remove_worker(worker, now_ms);
  }
  Result<store::Sweep> free_expired(store::WorkerKey self, std::int64_t now_ms) override {
    return counted().free_expired(self, now_ms);
  }
  Result<std::optional<std::int64_t>> read_clock() override {
    const auto read = counted().read_clock();
    return clock_ms ? clock_ms() : read;
  }
  Result<std::optional<store::RunRow>> find_run(store::RunKey run) override {
    return counted().find_run(run);
  }
  Result<std::optional<store::RunRow>> find_run(std::string_view id,
                                                std::optional<std::uint32_t> number) override {
    ++finds_by_id;
    return counted().find_run(id, number);
  }
  Result<std::string> read_input(store::RunKey run) override { return counted().read_input(run); }
  Result<std::vector<store::Tag>> read_tags(store::RunKey run) override {
    return counted().read_tags(run);
  }
  Result<std::string> read_reason(store::RunKey run) override { return counted().read_reason(run); }
  Result<void> read_log(store::RunKey run, std::uint64_t from_seq, const Visit& visit) override {
    return counted().read_log(run, from_seq, [&](const replay::Entry& entry) {
      return hides && hides(entry) ? Result<void>() : visit(entry);
    });
  }
  Result<void> read_last(store::RunKey run, const Visit& visit) override {
    return counted().read_last(run, visit);
  }
  Result<void> read_forgotten(store::RunKey run, const Visit& visit) override {
    return counted().read_forgotten(run, visit);
  }
  Result<store::News> read_news(store::WorkerKey worker, store::ArrivalKey after) override {
    if (before_read_inbox) {
      before_read_inbox(after);
    }
    return counted().read_news(worker, after);
  }
  Result<std::vector<store::Arrival>> read_inbox_of(store::RunKey run) override {
    return counted().read_inbox_of(run);
  }
  Result<std::vector<store::CompensationRow>> read_compensations(store::RunKey run) override {
    return counted().read_compensations(run);
  }
  Result<std::vector<std::string>> read_promises(store::RunKey run) override {
    return counted().read_promises(run);
  }
  Result<std::vector<store::TaskRow>> read_tasks(store::RunKey run) override {
    return counted().read_tasks(run);
  }
  Result<std::vector<store::RunRow>> read_children(store::RunKey run) override {
    return counted().read_children(run);
  }
  Result<std::int64_t> next_wake(std::span<const std::string> kinds,
                                 std::span<const store::KindDefinition> left,
                                 std::int64_t after_ms) override {
    return counted().next_wake(kinds, left, after_ms);
  }
  Result<std::vector<store::KnownWorker>> read_workers() override {
    return counted().read_workers();
  }
  Result<std::vector<store::TaskRow>> due_tasks(std::int64_t now_ms, std::size_t limit,
                                                std::int64_t* next_due) override {
    return counted().due_tasks(now_ms, limit, next_due);
  }
  store::Catalog& catalog() override { return counted().catalog(); }
  void watch(std::function<void(Change)> on_change) override {
    inner_->watch(std::move(on_change));
  }

 private:
  store::Store& counted() {
    ++questions;
    return *inner_;
  }

  std::shared_ptr<store::Store> inner_;
};

}  // namespace pawl::engine
