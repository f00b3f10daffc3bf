#include "postgres/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <libpq-fe.h>

namespace pawl::testing {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(60);
constexpr auto kLook = std::chrono::milliseconds(5);

const std::string kPrograms = PAWL_POSTGRES_BIN;
const fs::path kTemplate = PAWL_POSTGRES_TEMPLATE;  // Made by the first test that needs it.

// Servers refuse to run as root.
struct Account {
  std::string name;
  uid_t user;
  gid_t group;
};

std::optional<Account> account() {
  if (::geteuid() != 0) {
    return std::nullopt;
  }
  for (const char* const name : {"postgres", "nobody"}) {
    if (const passwd* const entry = ::getpwnam(name)) {
      return Account{name, entry->pw_uid, entry->pw_gid};
    }
  }
  throw std::runtime_error("neither a user postgres nor nobody to run a server as");
}

void give_away(const fs::path& path) {
  if (const std::optional<Account> to = account()) {
    (void)::lchown(path.c_str(), to->user, to->group);
    if (fs::is_directory(path)) {
      for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
        (void)::lchown(entry.path().c_str(), to->user, to->group);
      }
    }
  }
}

// Its output goes to the end of `log`. It ends when the thread that calls this does.
pid_t spawn(const std::vector<std::string>& command, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& word : command) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  const std::optional<Account> to = account();
  const pid_t parent = ::getpid();
  const int output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const pid_t child = ::fork();
  if (child != 0) {
    ::close(output);
    return child;
  }
  ::dup2(output, 1);
  ::dup2(output, 2);
  if (to.has_value() &&
      (::setgroups(0, nullptr) != 0 || ::setgid(to->group) != 0 || ::setuid(to->user) != 0)) {
    ::_exit(126);
  }
  // After the change of user, which forgets it. SIGQUIT ends a server and all that it has started.
  ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
  if (::getppid() != parent) {
    ::_exit(126);
  }
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

void run(const std::vector<std::string>& command, const std::string& log) {
  if (wait_for(spawn(command, log)) != 0) {
    std::stringstream text;
    text << std::ifstream(log).rdbuf();
    throw std::runtime_error(command[0] + " failed: " + text.str());
  }
}

std::string make_temporary_directory() {
  std::string path = (fs::temp_directory_path() / "pawl-postgres-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) {
    throw std::runtime_error("cannot make " + path);
  }
  give_away(path);
  return path;
}

// What initdb makes, once for each build directory: it takes a second.
void ensure_template() {
  const int lock =
      ::open((kTemplate.string() + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  ::flock(lock, LOCK_EX);
  if (!fs::exists(kTemplate)) {
    const std::string directory = make_temporary_directory();
    run({kPrograms + "/initdb", "-D", directory + "/data", "-U", "postgres", "--auth=trust",
         "--no-sync", "--encoding=UTF8", "--locale=C"},
        directory + "/log");
    const std::string copy = kTemplate.string() + ".new";
    fs::remove_all(copy);
    fs::copy(directory + "/data", copy, fs::copy_options::recursive);
    fs::rename(copy, kTemplate);
    fs::remove_all(directory);
  }
  ::close(lock);
}

std::uint16_t free_port() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("no free port");
  }
  ::close(listener);
  return ntohs(address.sin_port);
}

}  // namespace

PostgresServer::PostgresServer(Options options) : options_(std::move(options)) {
  ensure_template();
  make_directory();
  fs::copy(kTemplate, directory_ + "/data", fs::copy_options::recursive);
  fs::permissions(directory_ + "/data", fs::perms::owner_all);
  if (!options_.hba.empty()) {
    const std::string path = directory_ + "/data/pg_hba.conf";
    std::stringstream rest;
    rest << std::ifstream(path).rdbuf();
    std::ofstream(path) << options_.hba << "\n" << rest.str();
  }
  give_away(directory_ + "/data");
  if (options_.tls) {
    run({"/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", directory_ + "/data/server.key",
         "-out", directory_ + "/data/server.crt"},
        directory_ + "/log");
  }
  start();
}

PostgresServer::PostgresServer(const PostgresServer& primary, Standby /*tag*/)
    : options_(primary.options_) {
  make_directory();
  run({kPrograms + "/pg_basebackup", "-D", directory_ + "/data", "-R", "-X", "stream",
       "--checkpoint=fast", "--no-sync", "-d",
       "host=" + primary.directory_ + " port=" + std::to_string(primary.port_) +
           " user=postgres application_name=standby"},
      directory_ + "/log");
  start();
}

PostgresServer::~PostgresServer() {
  if (pid_ > 0) {
    ::kill(pid_, SIGQUIT);
    wait_for(pid_);
  }
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

void PostgresServer::make_directory() {
  directory_ = make_temporary_directory();
  port_ = free_port();
}

std::vector<std::string> PostgresServer::command() const {
  std::vector<std::string> words = {kPrograms + "/postgres", "-D", directory_ + "/data"};
  const auto set = [&words](const std::string& name, const std::string& value) {
    words.emplace_back("-c");
    words.push_back(name + "=" + value);
  };
  set("port", std::to_string(port_));
  set("unix_socket_directories", directory_);
  set("listen_addresses", options_.tcp ? "127.0.0.1" : "");
  set("fsync", options_.fsync ? "on" : "off");
  set("ssl", options_.tls ? "on" : "off");
  set("shared_buffers", "16MB");
  set("max_connections", "60");
  for (const auto& [name, value] : options_.settings) {
    set(name, value);
  }
  return words;
}

void PostgresServer::start() {
  const Clock::time_point deadline = Clock::now() + kPatience;
  const std::string place =
      "host=" + directory_ + " port=" + std::to_string(port_) + " dbname=postgres user=postgres";
  pid_ = spawn(command(), directory_ + "/log");
  while (PQping(place.c_str()) != PQPING_OK) {
    if (Clock::now() > deadline) {
      fail("does not start");
    }
    // After kill(), processes of the one before may still have the shared memory.
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = 0;
      if (log().find("pre-existing shared memory block") == std::string::npos) {
        fail("ended while it started");
      }
      pid_ = spawn(command(), directory_ + "/log");
    }
    std::this_thread::sleep_for(kLook);
  }
}

void PostgresServer::stop(Stop how) {
  const int signal = how == Stop::kSmart ? SIGTERM : how == Stop::kFast ? SIGINT : SIGQUIT;
  ::kill(pid_, signal);
  wait_for(pid_);
  pid_ = 0;
}

void PostgresServer::kill() {
  ::kill(pid_, SIGSTOP);  // So that it starts no more.
  std::ifstream children("/proc/" + std::to_string(pid_) + "/task/" + std::to_string(pid_) +
                         "/children");
  pid_t child = 0;
  while (children >> child) {
    ::kill(child, SIGKILL);
  }
  ::kill(pid_, SIGKILL);
  wait_for(pid_);
  pid_ = 0;
}

std::unique_ptr<PostgresServer> PostgresServer::make_standby(bool synchronous) {
  std::unique_ptr<PostgresServer> standby(new PostgresServer(*this, Standby{}));
  if (synchronous) {
    execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'");
    execute("SELECT pg_reload_conf()");
  }
  const Clock::time_point deadline = Clock::now() + kPatience;
  const std::string state = synchronous ? "sync" : "async";
  while (query("SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'") != state) {
    if (Clock::now() > deadline) {
      standby->fail("does not follow");
    }
    std::this_thread::sleep_for(kLook);
  }
  return standby;
}

void PostgresServer::promote() {
  if (query("SELECT pg_promote()") != "t") {
    fail("cannot be promoted");
  }
}

void PostgresServer::execute(std::string_view sql, std::string_view database) const {
  query(sql, database);
}

std::string PostgresServer::query(std::string_view sql, std::string_view database) const {
  PGconn* const connection = PQconnectdb(url(database).c_str());
  PGresult* const result = PQexec(connection, std::string(sql).c_str());
  const ExecStatusType status = PQresultStatus(result);
  std::string value = PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "";
  const std::string message = PQerrorMessage(connection);
  PQclear(result);
  PQfinish(connection);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    fail("refuses '" + std::string(sql) + "': " + message);
  }
  return value;
}

std::string PostgresServer::url(std::string_view database, std::string_view parameters) const {
  std::string host;
  for (const char byte : directory_) {
    host += byte == '/' ? "%2F" : std::string(1, byte);
  }
  std::string made = "postgresql://postgres@" + host + ":" + std::to_string(port_) + "/";
  made += database;
  if (!parameters.empty()) {
    made += "?";
    made += parameters;
  }
  return made;
}

std::string PostgresServer::tcp_url(std::string_view user_and_password,
                                    std::string_view database) const {
  return "postgresql://" + std::string(user_and_password) + "@127.0.0.1:" + std::to_string(port_) +
         "/" + std::string(database);
}

std::string PostgresServer::log() const {
  std::stringstream text;
  text << std::ifstream(directory_ + "/log").rdbuf();
  return text.str();
}

void PostgresServer::fail(const std::string& what) const {
  throw std::runtime_error("the PostgreSQL server " + what + "; its log:\n" + log());
}

}  // namespace pawl::testing
