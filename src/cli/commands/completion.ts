/**
 * `keyturn completion SHELL`: prints a completion script. All three are made of the statements.
 *
 * Invariant: the scripts complete words of the statements. For servers, apps and accounts they run
 * `keyturn __complete`, which asks a broker that runs and starts none (cli/broker/known-values.ts). What that prints is
 * only ever compared and inserted, never evaluated by the shell.
 */
import { bashScript } from '../completion/bash.ts';
import type { Topics } from '../completion/completed-words.ts';
import { fishScript } from '../completion/fish.ts';
import { zshScript } from '../completion/zsh.ts';
import { defineCommand } from '../terminal/command.ts';

const shells = ['bash', 'zsh', 'fish'] as const;

export const command = defineCommand(
  {
    name: 'completion',
    summary: 'Print a completion script for bash, zsh or fish',
    operands: [{ name: 'SHELL', values: shells }],
    about:
      'Print a completion script for a shell. It also completes the servers, apps and requests that a running broker knows.',
    examples: [
      'eval "$(keyturn completion bash)"   # in ~/.bashrc',
      'eval "$(keyturn completion zsh)"    # in ~/.zshrc',
      'keyturn completion fish > ~/.config/fish/completions/keyturn.fish',
    ],
  },
  async ({ operands: [shell] }, all) => {
    process.stdout.write(scripts[shell](await all()));
  },
);

const scripts: Readonly<Record<(typeof shells)[number], (all: Topics) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};
