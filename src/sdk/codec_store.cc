#include "sdk/codec_store.h"

#include <deque>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "pawl/codec.hpp"
#include "pawl/errors.hpp"

namespace pawl::detail {

PayloadCodecs::PayloadCodecs(std::shared_ptr<const PayloadCodec> writer,
                             std::vector<std::shared_ptr<const PayloadCodec>> readers)
    : writer_(std::move(writer)), readers_(std::move(readers)) {
  if (writer_ != nullptr) {
    readers_.insert(readers_.begin(), writer_);
  }
  for (const auto& codec : readers_) {
    const std::string name = codec->name();
    if (name.empty() || name.find('\0') != std::string::npos) {
      throw UsageError("a payload codec needs a name, without a zero byte");
    }
  }
}

bool PayloadCodecs::is_encoded(std::string_view payload) { return payload.starts_with(kCodecMark); }

Result<std::string> PayloadCodecs::encode(std::string_view payload) const {
  if (writer_ == nullptr || payload.empty()) {
    return std::string(payload);
  }
  const std::string name = writer_->name();
  try {
    return kCodecMark + name + '\0' + writer_->encode(payload);
  } catch (const std::exception& error) {
    return make_error(ErrorCode::kStoreUnusable,
                      "payload codec '" + name + "' cannot encode: " + error.what());
  }
}

Result<std::string> PayloadCodecs::decoded(std::string_view payload) const {
  if (!is_encoded(payload)) {
    return std::string(payload);
  }
  const std::size_t end = payload.find('\0');
  const std::string name(payload.substr(1, end == std::string_view::npos ? end : end - 1));
  for (const auto& codec : readers_) {
    if (end == std::string_view::npos || codec->name() != name) {
      continue;
    }
    try {
      return codec->decode(payload.substr(end + 1));
    } catch (const std::exception& error) {
      return make_error(ErrorCode::kStoreUnusable,
                        "payload codec '" + name + "' cannot decode: " + error.what());
    }
  }
  return make_error(ErrorCode::kStoreUnusable, "a payload was written by the payload codec '" +
                                                   name + "', which this engine does not have");
}

Result<void> PayloadCodecs::decode(std::string& payload) const {
  if (is_encoded(payload)) {
    PAWL_TRY_ASSIGN(payload, decoded(payload));
  }
  return {};
}

namespace {

using store::Arrival;
using store::Claim;
using store::CommitTurn;
using store::CompensationRow;
using store::Op;
using store::RunKey;
using store::TaskRow;

// What entries point to while their batch is written.
struct Arena {
  std::deque<std::string> texts;
  std::deque<replay::Checkpoint> checkpoints;
};

// --- In ---

class Encoder {
 public:
  explicit Encoder(const PayloadCodecs& codecs) : codecs_(codecs) {}

  Result<void> text(std::string& payload) {
    PAWL_TRY_ASSIGN(payload, codecs_.encode(payload));
    return {};
  }
  Result<void> arrival(store::NewArrival& arrival) { return text(arrival.payload); }

  Result<void> operator()(store::StartRun& start) {
    PAWL_TRY(text(start.run.input));
    return start.signal ? arrival(*start.signal) : Result<void>();
  }
  Result<void> operator()(store::Send& send) { return arrival(send.arrival); }
  Result<void> operator()(store::Terminate& terminate) { return text(terminate.payload); }
  Result<void> operator()(store::ChangeTask& change) {
    if (change.arrival) {
      PAWL_TRY(arrival(*change.arrival));
    }
    if (change.details) {
      PAWL_TRY(text(*change.details));
    }
    return change.last_error ? text(*change.last_error) : Result<void>();
  }
  Result<void> operator()(CommitTurn& turn) {
    for (replay::Entry& entry : turn.entries) {
      PAWL_TRY(this->entry(entry));
    }
    for (store::NewArrival& each : turn.arrivals) {
      PAWL_TRY(arrival(each));
    }
    for (store::NewTask& task : turn.tasks) {
      PAWL_TRY(text(task.input));
    }
    for (store::NewRun& child : turn.children) {
      PAWL_TRY(text(child.input));
    }
    for (store::Outgoing& outgoing : turn.outgoing) {
      PAWL_TRY(arrival(outgoing.arrival));
    }
    for (store::CompensationChange& change : turn.compensation_changes) {
      PAWL_TRY(text(change.outcome));
    }
    return turn.ending ? ending(*turn.ending) : Result<void>();
  }
  template <class Other>
  Result<void> operator()(Other& /*op*/) {
    return {};
  }

 private:
  Result<void> entry(replay::Entry& entry) {
    if (entry.has_payload) {
      PAWL_TRY_ASSIGN(std::string encoded, codecs_.encode(entry.payload));
      entry.payload = arena_.texts.emplace_back(std::move(encoded));
    }
    if (entry.checkpoint != nullptr) {
      replay::Checkpoint& checkpoint = arena_.checkpoints.emplace_back(*entry.checkpoint);
      PAWL_TRY(text(checkpoint.state));
      PAWL_TRY(text(checkpoint.result));
      for (replay::StateChange& change : checkpoint.changes) {
        if (change.value) {
          PAWL_TRY(text(*change.value));
        }
      }
      entry.checkpoint = &checkpoint;
    }
    return {};
  }
  Result<void> ending(store::Ending& ending) {
    for (CompensationRow& row : ending.compensations) {
      PAWL_TRY(text(row.input));
      PAWL_TRY(text(row.outcome));
    }
    if (ending.for_parent) {
      PAWL_TRY(arrival(*ending.for_parent));
    }
    if (ending.next) {
      PAWL_TRY(text(ending.next->input));
    }
    for (store::NewArrival& signal : ending.signals) {
      PAWL_TRY(arrival(signal));
    }
    return {};
  }

  const PayloadCodecs& codecs_;
  Arena arena_;
};

// --- Out: what an operation has come to is moved into the caller's, plain ---

class Decoder {
 public:
  explicit Decoder(const PayloadCodecs& codecs) : codecs_(codecs) {}

  Result<void> arrivals(std::vector<Arrival>& arrivals) const {
    for (Arrival& arrival : arrivals) {
      PAWL_TRY(codecs_.decode(arrival.payload));
    }
    return {};
  }
  Result<void> task(TaskRow& row) const {
    PAWL_TRY(codecs_.decode(row.input));
    PAWL_TRY(codecs_.decode(row.details));
    return codecs_.decode(row.last_error);
  }
  Result<void> tasks(std::vector<TaskRow>& rows) const {
    for (TaskRow& row : rows) {
      PAWL_TRY(task(row));
    }
    return {};
  }
  Result<void> claims(std::vector<Claim>& claims) const {
    for (Claim& claim : claims) {
      PAWL_TRY((*this)(claim));
    }
    return {};
  }

  Result<void> operator()(Claim& claim) const { return arrivals(claim.inbox); }
  Result<void> operator()(store::ClaimDue& due) const { return claims(due.claims); }
  Result<void> operator()(store::ClaimStuck& stuck) const { return claims(stuck.claims); }
  Result<void> operator()(CommitTurn& turn) const { return arrivals(turn.bounced); }
  Result<void> operator()(store::Send& send) const {
    return send.claim ? (*this)(*send.claim) : Result<void>();
  }
  Result<void> operator()(store::ChangeTask& change) const {
    return change.claim ? (*this)(*change.claim) : Result<void>();
  }
  Result<void> operator()(store::TakeTasks& take) const { return tasks(take.taken); }
  template <class Other>
  Result<void> operator()(Other& /*op*/) const {
    return {};
  }

 private:
  const PayloadCodecs& codecs_;
};

class CodecStore final : public store::Store {
 public:
  using Visit = std::function<Result<void>(const replay::Entry&)>;

  CodecStore(std::shared_ptr<store::Store> inner, PayloadCodecs codecs,
             std::function<void(const CommitTurn&)> on_commit)
      : inner_(std::move(inner)),
        codecs_(std::move(codecs)),
        decoder_(codecs_),
        on_commit_(std::move(on_commit)) {}

  Result<void> apply(std::span<Op> ops) override {
    PAWL_TRY(codecs_.writes() ? apply_encoded(ops) : apply_plain(ops));
    for (const Op& op : ops) {
      if (const auto* turn = std::get_if<CommitTurn>(&op);
          on_commit_ && turn != nullptr && turn->committed) {
        on_commit_(*turn);
      }
    }
    return {};
  }

  Result<store::WorkerKey> add_worker(const store::WorkerInfo& info) override {
    return inner_->add_worker(info);
  }
  Result<void> remove_worker(store::WorkerKey worker, std::int64_t now_ms) override {
    return inner_->remove_worker(worker, now_ms);
  }
  Result<store::Sweep> free_expired(store::WorkerKey self, std::int64_t now_ms) override {
    return inner_->free_expired(self, now_ms);
  }
  Result<std::optional<std::int64_t>> read_clock() override { return inner_->read_clock(); }
  Result<std::optional<store::RunRow>> find_run(RunKey run) override {
    return inner_->find_run(run);
  }
  Result<std::optional<store::RunRow>> find_run(std::string_view id,
                                                std::optional<std::uint32_t> number) override {
    return inner_->find_run(id, number);
  }
  Result<std::string> read_input(RunKey run) override {
    PAWL_TRY_ASSIGN(std::string input, inner_->read_input(run));
    PAWL_TRY(codecs_.decode(input));
    return input;
  }
  Result<std::vector<store::Tag>> read_tags(RunKey run) override { return inner_->read_tags(run); }
  Result<std::string> read_reason(RunKey run) override { return inner_->read_reason(run); }
  Result<void> read_log(RunKey run, std::uint64_t from_seq, const Visit& visit) override {
    return inner_->read_log(run, from_seq, plain(visit));
  }
  Result<void> read_last(RunKey run, const Visit& visit) override {
    return inner_->read_last(run, plain(visit));
  }
  Result<void> read_forgotten(RunKey run, const Visit& visit) override {
    return inner_->read_forgotten(run, plain(visit));
  }
  Result<store::News> read_news(store::WorkerKey worker, store::ArrivalKey after) override {
    PAWL_TRY_ASSIGN(store::News news, inner_->read_news(worker, after));
    PAWL_TRY_ASSIGN(news.arrivals, plain(Result<std::vector<Arrival>>(std::move(news.arrivals))));
    return news;
  }
  Result<std::vector<Arrival>> read_inbox_of(RunKey run) override {
    return plain(inner_->read_inbox_of(run));
  }
  Result<std::vector<Arrival>> read_due_inbox(RunKey run, std::int64_t now_ms) override {
    return plain(inner_->read_due_inbox(run, now_ms));
  }
  Result<std::vector<CompensationRow>> read_compensations(RunKey run) override {
    PAWL_TRY_ASSIGN(std::vector<CompensationRow> rows, inner_->read_compensations(run));
    for (CompensationRow& row : rows) {
      PAWL_TRY(codecs_.decode(row.input));
      PAWL_TRY(codecs_.decode(row.outcome));
    }
    return rows;
  }
  Result<std::vector<std::string>> read_promises(RunKey run) override {
    return inner_->read_promises(run);
  }
  Result<std::vector<TaskRow>> read_tasks(RunKey run) override {
    PAWL_TRY_ASSIGN(std::vector<TaskRow> rows, inner_->read_tasks(run));
    PAWL_TRY(decoder_.tasks(rows));
    return rows;
  }
  Result<std::vector<store::RunRow>> read_children(RunKey run) override {
    return inner_->read_children(run);
  }
  Result<std::int64_t> next_wake(std::span<const std::string> kinds,
                                 std::span<const store::KindDefinition> left,
                                 std::int64_t after_ms) override {
    return inner_->next_wake(kinds, left, after_ms);
  }
  Result<std::vector<store::KnownWorker>> read_workers() override { return inner_->read_workers(); }
  Result<std::vector<TaskRow>> due_tasks(std::int64_t now_ms, std::size_t limit,
                                         std::int64_t* next_due) override {
    PAWL_TRY_ASSIGN(std::vector<TaskRow> rows, inner_->due_tasks(now_ms, limit, next_due));
    PAWL_TRY(decoder_.tasks(rows));
    return rows;
  }
  store::Catalog& catalog() override { return inner_->catalog(); }
  void watch(std::function<void(Change)> on_change) override {
    inner_->watch(std::move(on_change));
  }

 private:
  Result<void> apply_plain(std::span<Op> ops) {
    PAWL_TRY(inner_->apply(ops));
    return decode_all(ops);
  }
  Result<void> apply_encoded(std::span<Op> ops) {
    // The caller's stay plain: he may try again with them, or look at them afterwards.
    Encoder encoder(codecs_);
    std::vector<Op> encoded;
    encoded.reserve(ops.size());
    for (Op& op : ops) {
      Op& copy = encoded.emplace_back(op);
      if (auto* turn = std::get_if<CommitTurn>(&copy); turn != nullptr && turn->inside) {
        wrap_inside(*turn, std::get<CommitTurn>(op), encoder);
        continue;
      }
      PAWL_TRY(std::visit(encoder, copy));
    }
    PAWL_TRY(inner_->apply(encoded));
    PAWL_TRY(decode_all(encoded));
    for (std::size_t i = 0; i < ops.size(); ++i) {
      take_outcome(ops[i], encoded[i]);
    }
    return {};
  }

  Result<void> decode_all(std::span<Op> ops) const {
    for (Op& op : ops) {
      PAWL_TRY(std::visit(decoder_, op));
    }
    return {};
  }

  // What `inside` fills in, it fills into the caller's turn; that is encoded then.
  static void wrap_inside(CommitTurn& copy, CommitTurn& original, Encoder& encoder) {
    copy.inside = [&original, &encoder](store::Database& database,
                                        CommitTurn& turn) -> Result<void> {
      CommitTurn& plain = original;
      Encoder& encode = encoder;
      PAWL_TRY(plain.inside(database, plain));
      turn =
          plain;  // This replaces the function that runs: nothing of it may be used from here on.
      return encode(turn);
    };
  }

  // Moves what came of `from` into `to`, which keeps what it was asked with.
  static void take_outcome(Op& to, Op& from) {
    std::visit(
        [&](auto& target) {
          using Type = std::remove_cvref_t<decltype(target)>;
          auto& source = std::get<Type>(from);
          if constexpr (std::is_same_v<Type, store::StartRun>) {
            auto run = std::move(target.run);
            auto signal = std::move(target.signal);
            target = std::move(source);
            target.run = std::move(run);
            target.signal = std::move(signal);
          } else if constexpr (std::is_same_v<Type, store::Send>) {
            auto arrival = std::move(target.arrival);
            target = std::move(source);
            target.arrival = std::move(arrival);
          } else if constexpr (std::is_same_v<Type, store::Terminate>) {
            auto payload = std::move(target.payload);
            target = std::move(source);
            target.payload = std::move(payload);
          } else if constexpr (std::is_same_v<Type, store::ChangeTask>) {
            auto arrival = std::move(target.arrival);
            auto details = std::move(target.details);
            auto last_error = std::move(target.last_error);
            target = std::move(source);
            target.arrival = std::move(arrival);
            target.details = std::move(details);
            target.last_error = std::move(last_error);
          } else if constexpr (std::is_same_v<Type, CommitTurn>) {
            take_turn(target, source);
          } else {
            target = std::move(source);
          }
        },
        to);
  }
  static void take_turn(CommitTurn& to, CommitTurn& from) {
    CommitTurn asked = std::move(to);
    to = std::move(from);
    to.entries = std::move(asked.entries);
    to.arrivals = std::move(asked.arrivals);
    to.tasks = std::move(asked.tasks);
    to.children = std::move(asked.children);
    to.outgoing = std::move(asked.outgoing);
    to.compensation_changes = std::move(asked.compensation_changes);
    to.ending = std::move(asked.ending);
    to.inside = std::move(asked.inside);
  }

  Result<std::vector<Arrival>> plain(Result<std::vector<Arrival>> arrivals) const {
    if (arrivals) {
      PAWL_TRY(decoder_.arrivals(*arrivals));
    }
    return arrivals;
  }
  Visit plain(const Visit& visit) const {
    return [this, &visit](const replay::Entry& entry) -> Result<void> {
      const bool is_plain = !PayloadCodecs::is_encoded(entry.payload);
      if (is_plain && entry.checkpoint == nullptr) {
        return visit(entry);
      }
      replay::Entry copy = entry;
      PAWL_TRY_ASSIGN(const std::string payload, codecs_.decoded(entry.payload));
      copy.payload = payload;
      replay::Checkpoint checkpoint;
      if (entry.checkpoint != nullptr) {
        checkpoint = *entry.checkpoint;
        PAWL_TRY(codecs_.decode(checkpoint.state));
        PAWL_TRY(codecs_.decode(checkpoint.result));
        for (replay::StateChange& change : checkpoint.changes) {
          if (change.value) {
            PAWL_TRY(codecs_.decode(*change.value));
          }
        }
        copy.checkpoint = &checkpoint;
      }
      return visit(copy);
    };
  }

  std::shared_ptr<store::Store> inner_;
  PayloadCodecs codecs_;
  Decoder decoder_;
  std::function<void(const CommitTurn&)> on_commit_;
};

}  // namespace

std::unique_ptr<store::Store> make_codec_store(std::shared_ptr<store::Store> inner,
                                               PayloadCodecs codecs,
                                               std::function<void(const CommitTurn&)> on_commit) {
  return std::make_unique<CodecStore>(std::move(inner), std::move(codecs), std::move(on_commit));
}

}  // namespace pawl::detail
