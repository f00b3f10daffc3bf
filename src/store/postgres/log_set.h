// LogSet: appends to logs, and what loops move away. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "store/operations/tables.h"
#include "store/postgres/session.h"

namespace pawl::store::pg {

class LogSet : public Logs {
 public:
  explicit LogSet(Session& session) : session_(session) {}

  // If it is not careful, an entry that is there already fails the whole transaction: it is not
  // looked for.
  void begin(bool is_careful) { is_careful_ = is_careful; }

  Result<bool> append(RunKey run, std::span<const replay::Entry> entries) override;
  Result<void> forget(RunKey run, std::span<const std::uint64_t> seqs, std::string_view loop,
                      std::int64_t iteration) override;
  Result<void> remove_all(RunKey run) override;
  Result<std::uint64_t> last_seq(RunKey run) override;

 private:
  Result<bool> is_taken(RunKey run, std::span<const replay::Entry> entries);
  void append_one(RunKey run, const replay::Entry& entry);
  void keep_state(RunKey run, const replay::Entry& checkpointed);

  Session& session_;
  bool is_careful_ = false;
};

}  // namespace pawl::store::pg
