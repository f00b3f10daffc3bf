// Money moves between accounts exactly once: the accounts lie in the store's own database, and a
// step of the workflow changes them in the same transaction that records it.
//
//   transfer [STORE]      500 transfers; STORE is sqlite:bank.db if not given
//
// `demo` kills it again and again and counts the money.
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <pawl/pawl.hpp>

constexpr int kAccounts = 10;
constexpr int kTransfers = 500;
constexpr int kBegin = 2000;  // What each account has at the beginning.

struct Transfer {
  int from = 0;
  int to = 0;
  int amount = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Transfer, from, to, amount)

struct NotEnough : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// --- Workflows -----------------------------------------------------------------------------------

// [open_accounts]
pawl::Workflow<void> open_accounts(pawl::Context ctx, int count) {
  co_await ctx.transact("open", [count](pawl::Transaction& tx) {
    tx.exec("CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)");
    // Deliberately without a unique key: should a transfer happen twice, it would be seen.
    tx.exec("CREATE TABLE transfers (id TEXT NOT NULL, amount INTEGER NOT NULL)");
    for (int id = 0; id < count; ++id) {
      tx.exec("INSERT INTO accounts VALUES (?, ?)", {std::to_string(id), std::to_string(kBegin)});
    }
  });
}
// [/open_accounts]

// [move]
pawl::Workflow<int> transfer(pawl::Context ctx, Transfer order) {
  const std::string id = ctx.info().id;
  co_return co_await ctx.transact("move", [id, order](pawl::Transaction& tx) {
    const std::string from = std::to_string(order.from);
    const std::string to = std::to_string(order.to);
    const std::string amount = std::to_string(order.amount);
    const auto rows = tx.query("SELECT balance FROM accounts WHERE id = ?", {from});
    const int balance = std::stoi(rows.at(0).at(0));
    if (balance < order.amount) {
      throw NotEnough("account " + from + " has less than " + amount);
    }
    tx.exec("UPDATE accounts SET balance = balance - ? WHERE id = ?", {amount, from});
    tx.exec("UPDATE accounts SET balance = balance + ? WHERE id = ?", {amount, to});
    tx.exec("INSERT INTO transfers VALUES (?, ?)", {id, amount});
    return balance - order.amount;
  });
}
// [/move]

// [sum]
pawl::Workflow<int> sum(pawl::Context ctx) {
  co_return co_await ctx.transact("sum", [](pawl::Transaction& tx) {
    return std::stoi(tx.query("SELECT SUM(balance) FROM accounts").at(0).at(0));
  });
}
// [/sum]

// --- The program ---------------------------------------------------------------------------------

// The last one asks for more than there is.
Transfer order(int number) {
  const bool is_last = number == kTransfers - 1;
  return {number % kAccounts, (number * 7 + 3) % kAccounts, is_last ? 1'000'000 : 1 + number % 20};
}

int main(int argc, char** argv) {
  try {
    pawl::Registry registry;
    registry.workflow("open_accounts", open_accounts)
        .workflow("transfer", transfer)
        .workflow("sum", sum);
    pawl::Engine engine(argc > 1 ? argv[1] : "sqlite:bank.db", registry);
    engine.start(open_accounts, "open-accounts", kAccounts).result();
    std::vector<pawl::RunHandle<int>> runs;
    for (int number = 0; number < kTransfers; ++number) {
      runs.push_back(engine.start(transfer, "transfer-" + std::to_string(number), order(number)));
    }
    int moved = 0;
    for (const auto& run : runs) {
      try {
        run.result();
        ++moved;
      } catch (const pawl::WorkflowFailed& failed) {
        std::cout << run.id() << ": " << failed.message() << std::endl;
      }
    }
    const int total = engine.start(sum, "").result();
    std::cout << moved << " transfers, " << kAccounts << " accounts with " << total << " in all"
              << std::endl;
    return moved == kTransfers - 1 && total == kAccounts * kBegin ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "transfer: " << error.what() << '\n';
    return 1;
  }
}
