#include "store/postgres/session.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "store/postgres/session_sql.h"

namespace pawl::store::pg {

namespace {

// A statement with as much as this is sent as it is: the next row begins another one.
constexpr std::size_t kGroupBytesMax = std::size_t{16} << 20U;

constexpr std::string_view kDivisionByZero = "22012";
constexpr std::string_view kUniqueViolation = "23505";

}  // namespace

void Session::begin() {
  PAWL_CHECK(!is_begun_ && batch_ == nullptr);
  finished_.reset();
  for (std::optional<Bulk>& bulk : group_) {
    bulk.reset();
  }
  last_of_run_.clear();
  assumed_.clear();
  assumed_alive_.clear();
  assumed_new_.clear();
  is_assumed_open_ = false;
  sent_ids_.clear();
  sent_.clear();
  released_.clear();
  sqlstate_.clear();
}

Batch& Session::batch() {
  if (batch_ == nullptr) {
    batch_ = std::make_unique<Batch>(connection_);
  }
  return *batch_;
}

Bulk& Session::write(Write kind, RunKey run) {
  const Kind& of = kKinds[static_cast<std::size_t>(kind)];
  if (!is_collecting_) {
    const auto last = last_of_run_.find(run);
    const bool is_out_of_order =
        last != last_of_run_.end() && (last->second > kind || (of.once && last->second == kind));
    const std::optional<Bulk>& before = group_[static_cast<std::size_t>(kind)];
    if (is_out_of_order || (before.has_value() && before->bytes() > kGroupBytesMax)) {
      close_group();
    }
    last_of_run_[run] = kind;
  }
  std::optional<Bulk>& bulk = group_[static_cast<std::size_t>(kind)];
  if (!bulk.has_value()) {
    bulk.emplace(of.statement, of.columns);
  }
  return bulk->row();
}

void Session::assume(RunKey run, WorkerKey owner, std::int64_t epoch, bool is_paused) {
  assumed_.push_back({run, owner, epoch, is_paused});
}

void Session::assume_alive(WorkerKey worker) { assumed_alive_.push_back(worker); }

void Session::assume_new(std::string_view id) { assumed_new_.push_back(id); }

void Session::assume_open() { is_assumed_open_ = true; }

void Session::send_assumptions() {
  if (std::exchange(is_assumed_open_, false)) {
    batch().add(kCheckOpen).integer(ns_);
  }
  if (!assumed_new_.empty()) {
    batch().add(kCheckNew).integer(ns_).array(take_new_ids());
  }
  for (const WorkerKey worker : assumed_alive_) {
    batch().add(kCheckAlive).integer(ns_).integer(worker);
  }
  assumed_alive_.clear();
  if (assumed_.size() == 1 && first_write() == Write::kAppendEntry) {
    append(kAppendHeld);
  } else if (!assumed_.empty()) {
    Bulk& all = sent_.emplace_back(kCheckHeld, "iiio");
    for (const Assumed& one : assumed_) {
      all.row().integer(one.run).integer(one.owner).integer(one.epoch).boolean(one.is_paused);
    }
    const auto count = static_cast<std::int64_t>(assumed_.size());
    all.send(batch(), ns_, kCheckHeld, [&](Call& call) { call.integer(count); });
    assumed_.clear();
  }
}

const TextArray& Session::take_new_ids() {
  TextArray& ids = sent_ids_.emplace_back();
  for (const std::string_view id : assumed_new_) {
    ids.add(id);
  }
  assumed_new_.clear();
  return ids;
}

const Bulk& Session::take(Write kind) {
  std::optional<Bulk>& bulk = group_[static_cast<std::size_t>(kind)];
  const Bulk& taken = sent_.emplace_back(*std::move(bulk));
  bulk.reset();
  return taken;
}

std::optional<Write> Session::first_write() const {
  for (std::size_t kind = 0; kind < kWriteKinds; ++kind) {
    if (group_[kind].has_value()) {
      return static_cast<Write>(kind);
    }
  }
  return std::nullopt;
}

bool Session::writes_only(std::span<const Write> kinds) const {
  for (std::size_t kind = 0; kind < kWriteKinds; ++kind) {
    const bool is_wanted =
        std::find(kinds.begin(), kinds.end(), static_cast<Write>(kind)) != kinds.end();
    if (group_[kind].has_value() != is_wanted) {
      return false;
    }
  }
  return true;
}

// The entries, with the run that is assumed to be held.
Call& Session::append(const Statement& statement) {
  const Assumed run = assumed_.front();
  assumed_.clear();
  return take(Write::kAppendEntry).send(batch(), ns_, statement, [&](Call& call) {
    call.integer(run.run).integer(run.owner).integer(run.epoch).boolean(run.is_paused);
  });
}

// Puts the whole transaction into one statement; as many rows as are returned have to be written by
// it. None: it needs more.
std::optional<std::int64_t> Session::send_alone() {
  constexpr std::array kEntries = {Write::kAppendEntry};
  constexpr std::array kStart = {Write::kInsertRun, Write::kInsertInput};
  const bool are_new = !assumed_new_.empty();
  if (is_assumed_open_) {
    return std::nullopt;
  }
  if (assumed_.size() == 1 && !are_new && assumed_alive_.empty() && writes_only(kEntries)) {
    const auto rows = static_cast<std::int64_t>(group_of(Write::kAppendEntry)->rows());
    append(kAppendAlone);
    return rows;
  }
  if (assumed_.empty() && are_new && assumed_alive_.size() == 1 && writes_only(kStart) &&
      group_of(Write::kInsertRun)->rows() == 1 && group_of(Write::kInsertInput)->rows() == 1) {
    const TextArray& ids = take_new_ids();
    const Bulk& input = take(Write::kInsertInput);
    take(Write::kInsertRun).send(batch(), ns_, kStartAlone, [&](Call& call) {
      call.integer(assumed_alive_.front()).array(ids);
      input.bind_last(call);
    });
    assumed_alive_.clear();
    return 1;
  }
  return std::nullopt;
}

void Session::collect() {
  if (collect_) {
    is_collecting_ = true;
    collect_();
    is_collecting_ = false;
  }
}

void Session::close_group() {
  collect();
  send_assumptions();
  for (std::size_t kind = 0; kind < kWriteKinds; ++kind) {
    if (kind == static_cast<std::size_t>(kRests.front()) && remove_rests()) {
      kind = static_cast<std::size_t>(kRests.back());
      continue;
    }
    if (!group_[kind].has_value()) {
      continue;
    }
    Call& call = take(static_cast<Write>(kind)).send(batch(), ns_);
    if (kind == static_cast<std::size_t>(Write::kReleaseRun)) {
      released_.push_back(&call);
    }
  }
  last_of_run_.clear();
}

// False: not all are there.
bool Session::remove_rests() {
  const auto is_there = [&](Write kind) { return group_of(kind).has_value(); };
  if (!std::all_of(kRests.begin(), kRests.end(), is_there)) {
    return false;
  }
  Call& call = batch().add(kRemoveRests).integer(ns_);
  for (const Write kind : kRests) {
    take(kind).bind_arrays(call);
  }
  return true;
}

Call& Session::query(const Statement& statement) {
  close_group();
  return batch().add(statement);
}

Result<void> Session::run() {
  close_group();
  if (batch_ == nullptr) {
    return {};
  }
  if (!is_begun_) {
    batch_->begin();
    is_begun_ = true;
  }
  return send();
}

Result<void> Session::send() {
  const Result<void> done = batch_->run();
  sqlstate_ = batch_->sqlstate();
  constraint_ = batch_->constraint();
  finished_ = std::move(batch_);
  if (!done.has_value()) {
    is_begun_ = false;  // Whatever the error: no transaction is open.
    released_.clear();
    return done;
  }
  for (const Call* const call : released_) {
    read_released_(call->rows());
  }
  released_.clear();
  sent_.clear();
  return {};
}

Result<void> Session::commit(const std::optional<Notice>& notice) {
  if (!is_begun_ && batch_ == nullptr && !notice.has_value() && connection_.options().prepare) {
    collect();
    if (const std::optional<std::int64_t> rows = send_alone()) {
      last_of_run_.clear();
      PAWL_TRY(send());
      return finished_->last().rows().affected() == *rows ? Result<void>() : refute();
    }
  }
  close_group();
  if (!is_begun_ && batch_ == nullptr) {
    return {};
  }
  if (notice.has_value()) {
    batch().notify(*notice);
  }
  if (is_begun_) {
    batch().commit();
  } else if (!connection_.options().prepare) {
    batch_->begin();  // The isolation may not be what is needed.
    batch_->commit();
  }
  const Result<void> done = send();
  is_begun_ = false;
  return done;
}

void Session::roll_back() {
  batch_.reset();
  if (is_begun_) {
    connection_.rollback();
    is_begun_ = false;
  }
}

// As the server does it.
Result<void> Session::refute() {
  sqlstate_ = kDivisionByZero;
  return make_error(ErrorCode::kStoreBusy, "something was changed by others meanwhile");
}

// Functions that run in a transaction may have tables of their own.
bool Session::is_refuted() const {
  return sqlstate_ == kDivisionByZero ||
         (sqlstate_ == kUniqueViolation && constraint_.starts_with("pawl_"));
}

}  // namespace pawl::store::pg
