// The catalog of a SQLite store, by a connection of its own that is opened when it is first asked.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "store/catalog.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/inbox_table.h"
#include "store/sqlite/log_table.h"
#include "store/sqlite/opened_file.h"
#include "store/sqlite/run_search.h"
#include "store/sqlite/run_table.h"
#include "store/sqlite/side_tables.h"
#include "store/sqlite/task_table.h"

namespace pawl::store {

class SqliteCatalog final : public Catalog {
 public:
  using Open = std::function<Result<std::unique_ptr<Connection>>()>;

  // `file` is asked before each call whether it is still there, and outlives the catalog.
  SqliteCatalog(const OpenedFile& file, std::int64_t ns, Open open);
  ~SqliteCatalog() override;
  SqliteCatalog(const SqliteCatalog&) = delete;
  SqliteCatalog& operator=(const SqliteCatalog&) = delete;

  Result<RunPage> list_runs(const RunFilter& filter, const RunCursor& after,
                            std::size_t limit) override;
  Result<std::int64_t> count_runs(const RunFilter& filter) override;
  Result<std::vector<std::string>> find_ids(std::string_view prefix, std::string_view after,
                                            std::size_t limit) override;
  Result<std::vector<ClosedRun>> find_closed(RunStatus status, std::int64_t before_ms,
                                             const ClosedRun& after, std::size_t limit) override;
  Result<bool> has_run(const Uuid& uuid) override;
  Result<RunImage> read_image(RunKey run) override;
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
  // What is made with the connection.
  struct Tables;

  // Asks `what` of one moment of the database.
  template <class T>
  Result<T> ask(const std::function<Result<T>(Tables&)>& what);

  const OpenedFile& file_;
  std::int64_t ns_;
  Open open_;
  std::mutex mutex_;
  std::unique_ptr<Tables> tables_;
};

}  // namespace pawl::store
