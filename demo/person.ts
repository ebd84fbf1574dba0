/** Answers the broker's questions as the user: on the terminal or, with nobody there, by saying yes and saying so. */
import { createInterface } from 'node:readline/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Stage } from './stage.ts';

const questions = z.array(
  z.object({
    id: z.string(),
    kind: z.enum(['allow', 'pair', 'signIn']),
    app: z.string().optional(),
    resource: z.string().optional(),
    scope: z.string().optional(),
    code: z.string().optional(),
  }),
);

type Question = z.infer<typeof questions>[number];

export interface Person {
  /** Waits for the next question of this kind, and answers it. */
  answer(kind: 'allow' | 'pair'): Promise<void>;
}

/** Milliseconds between two looks at `keyturn request list`. */
const pollInterval = 100;

export function person(stage: Stage, isPresent: boolean, say: (line: string) => void): Person {
  return {
    async answer(kind) {
      const question = await nextQuestion(stage, kind);
      const asked = describe(question);
      const isYes = isPresent ? await asks(asked) : true;
      await stage.keyturn('request', isYes ? 'approve' : 'deny', question.id);
      if (!isPresent) say(`the broker asks: ${asked} Answered yes for you (nobody at a terminal, or --yes).`);
    },
  };
}

async function nextQuestion(stage: Stage, kind: Question['kind']): Promise<Question> {
  for (;;) {
    const { stdout } = await stage.keyturn('request', 'list', '--json');
    const found = questions.parse(JSON.parse(stdout)).find((question) => question.kind === kind);
    if (found) return found;
    await sleep(pollInterval);
  }
}

function describe({ kind, app, resource, scope, code }: Question): string {
  if (kind === 'pair') return `may ${app} be paired? It shows the code ${code}.`;
  return `may ${app} have tokens for ${resource}${scope === undefined ? '' : ` with ${scope}`}?`;
}

async function asks(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const answer = await terminal.question(`   ? The broker asks: ${question} [Y/n] `);
    return !/^n/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}
