#include "store/operations/size_check.h"

#include <string>
#include <string_view>
#include <utility>

namespace pawl::store {

namespace {

// Goes through all texts of an operation; keeps the first that is too large.
class SizeCheck {
 public:
  explicit SizeCheck(std::size_t payload_bytes_max) : payload_bytes_max_(payload_bytes_max) {}

  bool ok() const { return field_ == nullptr; }
  std::string complaint() const {
    return std::string(field_) + " of " + std::to_string(size_) + " bytes is over the limit of " +
           std::to_string(limit_);
  }

  void check(const StartRun& op) {
    check(op.run);
    name(op.dedupe);
    if (op.signal.has_value()) {
      check(*op.signal);
    }
  }
  void check(const Claim&) {}
  void check(const ClaimDue&) {}
  void check(const ClaimStuck&) {}
  void check(const Resume&) {}
  void check(const TakeTasks&) {}
  void check(const Heartbeat&) {}
  void check(const Pause&) {}
  void check(const Hurry&) {}
  void check(const DeleteRun&) {}
  void check(const CreateRun& op) {
    check(op.image);
    check_all(op.entries);
  }
  void check(const CarryRun& op) {
    check(op.image);
    check_all(op.entries);
  }
  void check(const CarryLog& op) { check_all(op.entries); }
  void check(const RunImage& image) {
    name(image.row.id);
    name(image.row.kind);
    name(image.row.definition);
    name(image.row.waiting_for);
    name(image.blocked_by.value_or(""));
    name(image.needs);
    payload(image.input);
    payload(image.reason);
    check_all(image.tags);
    check_all(image.inbox);
    check_all(image.tasks);
    check_all(image.compensations);
    for (const PromiseRow& promise : image.promises) {
      name(promise.name);
    }
    for (const std::string& id : image.dedupe) {
      name(id);
    }
  }
  void check(const Send& op) {
    check(op.arrival);
    name(op.dedupe);
  }
  void check(const Terminate& op) { payload(op.payload); }
  void check(const ChangeTask& op) {
    if (op.arrival.has_value()) {
      check(*op.arrival);
    }
    payload(op.details.has_value() ? std::string_view(*op.details) : std::string_view());
    payload(op.last_error.has_value() ? std::string_view(*op.last_error) : std::string_view());
  }
  void check(const CommitTurn& turn) {
    check_all(turn.entries);
    check_all(turn.arrivals);
    check_all(turn.tasks);
    check_all(turn.children);
    check_all(turn.outgoing);
    check_all(turn.compensation_changes);
    for (const std::string& promise : turn.promises) {
      name(promise);
    }
    name(turn.definition.value_or(""));
    name(turn.blocked_by.value_or(""));
    name(turn.needs);
    if (turn.ending.has_value()) {
      check(*turn.ending);
    }
    name(turn.waiting_for);
    payload(turn.reason);
  }

 private:
  template <typename T>
  void check_all(const std::vector<T>& items) {
    for (const T& item : items) {
      check(item);
    }
  }

  void check(const replay::Entry& entry) {
    name(entry.location);
    name(entry.id);
    name(entry.name);
    name(entry.child_kind);
    name(entry.step_key);
    name(entry.source);
    payload(entry.extra);
    payload(entry.payload);
    if (entry.checkpoint != nullptr) {
      check(*entry.checkpoint);
    }
  }
  // It is stored as one value, so its parts count together.
  void check(const replay::Checkpoint& checkpoint) {
    std::size_t size = checkpoint.state.size() + checkpoint.result.size();
    for (const replay::StateChange& change : checkpoint.changes) {
      size += change.key.size() + change.value.value_or("").size();
    }
    limit("a loop's state", size, payload_bytes_max_);
  }
  void check(const NewArrival& arrival) {
    name(arrival.id);
    name(arrival.location);
    name(arrival.name);
    payload(arrival.extra);
    payload(arrival.payload);
  }
  void check(const NewTask& task) {
    name(task.id);
    name(task.type);
    name(task.queue);
    payload(task.input);
    payload(task.options);
  }
  void check(const TaskRow& task) {
    check(static_cast<const NewTask&>(task));
    payload(task.details);
    payload(task.last_error);
  }
  void check(const NewRun& run) {
    name(run.id);
    name(run.kind);
    name(run.definition);
    name(run.parent.command);
    payload(run.input);
    check_all(run.tags);
  }
  void check(const Tag& tag) {
    name(tag.name);
    name(tag.value);
  }
  void check(const Outgoing& outgoing) {
    check(outgoing.arrival);
    name(outgoing.dedupe);
  }
  void check(const CompensationChange& change) { payload(change.outcome); }
  void check(const CompensationRow& row) {
    name(row.name);
    payload(row.input);
    payload(row.outcome);
  }
  void check(const Ending& ending) {
    check_all(ending.compensations);
    check_all(ending.signals);
    if (ending.for_parent.has_value()) {
      check(*ending.for_parent);
    }
    if (ending.next.has_value()) {
      check(*ending.next);
    }
  }

  void name(std::string_view text) { limit("a name", text.size(), replay::kNameBytesMax); }
  void payload(std::string_view text) { limit("a payload", text.size(), payload_bytes_max_); }
  void limit(const char* field, std::size_t size, std::size_t max) {
    if (size > max && ok()) [[unlikely]] {
      field_ = field;
      size_ = size;
      limit_ = max;
    }
  }

  std::size_t payload_bytes_max_;
  const char* field_ = nullptr;
  std::size_t size_ = 0;
  std::size_t limit_ = 0;
};

}  // namespace

Result<void> check_sizes(std::span<const Op> ops, std::size_t payload_bytes_max) {
  SizeCheck sizes(payload_bytes_max);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    std::visit([&](const auto& op) { sizes.check(op); }, ops[i]);
    if (!sizes.ok()) {
      return make_error(ErrorCode::kLimitExceeded, "operation " + std::to_string(i + 1) + " of " +
                                                       std::to_string(ops.size()) + ": " +
                                                       sizes.complaint());
    }
  }
  return {};
}

Result<void> check_sizes(std::span<const CarryRun> runs, std::size_t payload_bytes_max) {
  for (const CarryRun& run : runs) {
    SizeCheck sizes(payload_bytes_max);
    sizes.check(run);
    if (!sizes.ok()) {
      return make_error(ErrorCode::kLimitExceeded,
                        "run '" + run.image.row.id + "': " + sizes.complaint());
    }
  }
  return {};
}

Result<void> check_sizes(const CarryLog& log, std::size_t payload_bytes_max) {
  SizeCheck sizes(payload_bytes_max);
  sizes.check(log);
  return sizes.ok() ? Result<void>() : make_error(ErrorCode::kLimitExceeded, sizes.complaint());
}

Result<void> check_sizes(const CommitTurn& turn, std::size_t payload_bytes_max) {
  SizeCheck sizes(payload_bytes_max);
  sizes.check(turn);
  return sizes.ok() ? Result<void>()
                    : make_error(ErrorCode::kLimitExceeded, "turn: " + sizes.complaint());
}

}  // namespace pawl::store
