// ImageRows: all but the logs of the runs of a range, read in one round trip and handed out run by
// run. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "store/postgres/batch.h"
#include "store/run_visitor.h"

namespace pawl::store::pg {

class ImageRows {
 public:
  ImageRows(Connection& connection, std::int64_t ns, const KeyRange& range);

  Result<void> read();
  // In order of key; false: there are no more.
  bool next(VisitedRun& to);

 private:
  // Rows in order of their run.
  class Part {
   public:
    Part(const Call& call, int run_column) : call_(call), run_column_(run_column) {}

    // Those of this run; the runs before it are passed over.
    template <class Take>
    void each(RunKey run, const Take& take) {
      const Rows& rows = call_.rows();
      for (; next_ < rows.size(); ++next_) {
        const Row row = rows[next_];
        const RunKey of = row.as_integer(run_column_);
        if (of > run) {
          return;
        }
        if (of == run) {
          take(row);
        }
      }
    }

   private:
    const Call& call_;
    int run_column_;
    std::size_t next_ = 0;
  };

  const Call& add(const Statement& statement);

  std::int64_t ns_;
  KeyRange range_;
  Batch batch_;
  const Call& runs_;
  std::size_t next_ = 0;  // Of these.
  Part inputs_;
  Part tags_;
  Part reasons_;
  Part inboxes_;
  Part tasks_;
  Part promises_;
  Part compensations_;
  Part dedupes_;
  Part children_;
};

}  // namespace pawl::store::pg
