// Batch: executions of statements that go to the server together, in one round trip.
//
//   Batch batch(connection);
//   batch.begin();
//   Call& insert = batch.add(kInsertRun).text(id).uuid(uuid).integer(now_ms);
//   batch.add(kSetWake).integer(run).moment(wake_ms);
//   batch.commit();
//   PAWL_TRY(batch.run());
//   for (const Row row : insert.rows()) …
//
// Without begin() and outside a transaction all of it is one transaction. With it and without
// commit(), the transaction stays open for the next batch. Not thread-safe; one batch of a
// connection at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"
#include "store/postgres/array.h"
#include "store/postgres/connection.h"
#include "store/postgres/notice.h"
#include "store/postgres/rows.h"
#include "store/postgres/statement.h"

namespace pawl::store::pg {

class Batch;

enum class Isolation : std::uint8_t {
  kReadCommitted,  // Each statement sees what was committed before it began.
  kSnapshot,       // All see the same; for reading only.
};

// One execution: bind the parameters in order, before the next one is added. Texts, bytes and
// arrays are borrowed until run() has returned.
class Call {
 public:
  Call(Batch& batch, const Statement& statement, std::size_t first, bool commits)
      : batch_(batch), statement_(statement), first_(first), commits_(commits) {}

  Call& integer(std::int64_t value);   // int8.
  Call& integer4(std::int32_t value);  // int4.
  Call& boolean(bool value);
  Call& null();
  // NULL for 0.
  Call& integer_or_null(std::int64_t value) { return value == 0 ? null() : integer(value); }
  // NULL for kNever.
  Call& moment(std::int64_t value);
  Call& text(std::string_view value);
  // NULL for the empty text.
  Call& text_or_null(std::string_view value) { return value.empty() ? null() : text(value); }
  Call& bytes(std::string_view value);
  Call& bytes_or_null(std::string_view value) { return value.empty() ? null() : bytes(value); }
  // NULL without one.
  Call& payload(bool has_payload, std::string_view value) {
    return has_payload ? bytes(value) : null();
  }
  Call& uuid(const Uuid& value);  // Copied.
  Call& array(const Array& value);

  // After a run() that succeeded.
  const Rows& rows() const { return rows_; }

 private:
  friend class Batch;
  friend class BatchRun;
  Call& copy(const void* bytes, std::size_t size);

  Batch& batch_;
  Statement statement_;
  std::size_t first_;  // Of its parameters among those of the batch.
  std::size_t count_ = 0;
  bool commits_;
  Rows rows_;
};

class Batch {
 public:
  explicit Batch(Connection& connection, Effect effect = Effect::kWrites);
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  // The reference is good as long as the batch.
  Call& add(const Statement& statement);
  // Before all others, whenever it is called.
  void begin(Isolation isolation = Isolation::kReadCommitted);
  void commit();  // At most one, and nothing after it. COMMIT must not be sent in any other way.
  // Adds pg_notify: heard by Listeners when the transaction commits.
  void notify(const Notice& notice);

  const Call& last() const { return calls_.back(); }
  bool empty() const { return calls_.empty(); }
  std::size_t size() const { return calls_.size(); }

  // Once. An error is that of the first statement that failed; then nothing has changed, no
  // transaction is open, also none that was begun before, and the connection can be used or, if it
  // is lost, be reopened by ensure(). Prepared statements that the server has lost are prepared
  // again, unless a transaction was open before: then that is kStoreBusy.
  Result<void> run();

  // After an error of the server: its code, e.g. "23505", and the constraint's name, if it is about
  // one. Else empty.
  const std::string& sqlstate() const { return sqlstate_; }
  const std::string& constraint() const { return constraint_; }

 private:
  friend class Call;
  friend class BatchRun;

  struct Parameter {
    const char* value;  // Null: NULL.
    std::size_t size;
  };

  Connection& connection_;
  Effect effect_;
  std::pmr::monotonic_buffer_resource copies_;
  std::deque<Call> calls_;
  std::vector<Parameter> parameters_;
  bool begins_ = false;
  std::string sqlstate_;
  std::string constraint_;
};

}  // namespace pawl::store::pg
