// A PostgreSQL server for tests: in a directory of its own, reached by a socket there and, if asked
// for, by a loopback port. It ends with the test, however that ends. What cannot be done throws
// std::runtime_error with the server's log. Not thread-safe; start it on a thread that lives as
// long as it does.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::testing {

class PostgresServer {
 public:
  struct Options {
    bool tcp = false;    // On a free port of 127.0.0.1 besides the socket.
    bool tls = false;    // With a certificate for 127.0.0.1 in <directory>/data/server.crt.
    bool fsync = false;  // For tests of what survives.
    std::string hba;     // Lines for the beginning of pg_hba.conf; behind them everybody may in.
    std::vector<std::pair<std::string, std::string>> settings;
  };

  PostgresServer() : PostgresServer(Options{}) {}
  explicit PostgresServer(Options options);  // Starts it.
  ~PostgresServer();                         // Stops it and removes its directory.
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  // By the socket, as the superuser postgres.
  std::string url(std::string_view database = "postgres", std::string_view parameters = {}) const;
  std::string tcp_url(std::string_view user_and_password = "postgres",
                      std::string_view database = "postgres") const;
  std::uint16_t port() const { return port_; }

  enum class Stop : std::uint8_t { kSmart, kFast, kImmediate };
  void stop(Stop how = Stop::kFast);
  void kill();   // All its processes, at once.
  void start();  // After stop() or kill(): the same data, directory and port.
  bool is_running() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  const std::string& directory() const { return directory_; }

  // A standby that follows this server. If `synchronous`, commits here wait for it from now on.
  std::unique_ptr<PostgresServer> make_standby(bool synchronous);
  void promote();

  // As the superuser. The second gives the first column of the first row.
  void execute(std::string_view sql, std::string_view database = "postgres") const;
  std::string query(std::string_view sql, std::string_view database = "postgres") const;

  std::string log() const;

 private:
  struct Standby {};
  PostgresServer(const PostgresServer& primary, Standby tag);

  void make_directory();
  std::vector<std::string> command() const;
  [[noreturn]] void fail(const std::string& what) const;

  Options options_;
  std::string directory_;
  std::uint16_t port_ = 0;
  pid_t pid_ = 0;
};

}  // namespace pawl::testing
