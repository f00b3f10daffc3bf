// The Catalog of a PostgreSQL store, by a connection that is made when it is first asked.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "store/catalog.h"
#include "store/postgres/connection.h"
#include "store/postgres/statement.h"

namespace pawl::store::pg {

class PostgresCatalog : public Catalog {
 public:
  PostgresCatalog(const PostgresOptions& options, std::int64_t ns);
  ~PostgresCatalog() override;

  Result<RunPage> list_runs(const RunFilter& filter, const RunCursor& after,
                            std::size_t limit) override;
  Result<std::int64_t> count_runs(const RunFilter& filter) override;
  Result<std::vector<std::string>> find_ids(std::string_view prefix, std::string_view after,
                                            std::size_t limit) override;
  Result<std::vector<ClosedRun>> find_closed(RunStatus status, std::int64_t before_ms,
                                             const ClosedRun& after, std::size_t limit) override;
  Result<RunImage> read_image(RunKey run) override;
  Result<bool> has_run(const Uuid& run_id) override;
  Result<std::vector<TaskRow>> list_tasks(const TaskFilter& filter, TaskKey after,
                                          std::size_t limit) override;
  Result<std::vector<WorkerRow>> list_workers() override;
  Result<StoreFigures> read_figures(std::int64_t now_ms) override;
  Result<std::vector<std::string>> list_namespaces() override;
  Result<FoundRuns> find_runs(std::span<const RunKey> runs) override;
  Result<FoundRuns> find_runs(std::span<const RunName> runs) override;
  Result<RunKey> visit_runs(const KeyRange& range, RunVisitor& visitor) override;
  Result<Database::Rows> query(std::string sql) override;
  Result<std::vector<std::string>> check_medium() override;

 private:
  // All that is asked sees one moment. `settings` are for the time of it.
  template <class T>
  Result<T> ask(const Statement& settings, const std::function<Result<T>(Connection&)>& what);
  template <class T>
  Result<T> ask(const std::function<Result<T>(Connection&)>& what);

  const PostgresOptions options_;
  const std::int64_t ns_;
  std::mutex mutex_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace pawl::store::pg
