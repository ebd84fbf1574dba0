/**
 * Runs the shell blocks of a page of docs/guides/examples/ in their order, whole and once.
 *
 * Invariant: only servers, machines, ids and folders are replaced, and each of them must be on the page.
 */
import { onTestFinished } from 'vitest';
import { codeBlocks, type MarkdownPage, page } from '../../docs/pages.ts';
import { type Running, type TestHome } from '../../support/home.ts';
import { type Question, questionOf } from '../../support/homes/ask-broker.ts';
import { inTerminal, type Terminal } from '../../support/processes/terminal.ts';

/** What is printed, and what stands for it in this run. */
export type Names = Readonly<Record<string, string>>;

/** The id of a question as the pages print it. */
const printedId = /\b(?:1a2b3c4d|5e6f7a8b)\b/;

export class Walk {
  readonly page: MarkdownPage;
  readonly #home: TestHome;
  readonly #names: Names;
  readonly #blocks: string[];

  constructor(name: string, home: TestHome, names: Names) {
    this.page = page(`docs/guides/examples/${name}.md`);
    this.#home = home;
    this.#names = names;
    this.#blocks = codeBlocks(this.page, 'sh');
    onTestFinished(({ task }) => {
      if (task.result?.state === 'pass' && this.#blocks.length > 0)
        throw new Error(`not walked on ${this.page.name}:\n${this.#blocks.join('\n')}`);
    });
  }

  /** The next block, to its end; all of its commands must succeed. Answers its standard output. */
  async run(names?: Names, home?: TestHome): Promise<string> {
    const { code, stdout, stderr } = await this.start(names, home).ended;
    if (code !== 0) throw new Error(`exit ${code} on ${this.page.name}:\n${stdout}${stderr}`);
    return stdout;
  }

  /** Starts the next block. */
  start(names: Names = {}, home = this.#home): Running {
    return home.startLines(this.#next(names));
  }

  /** The arguments that the next block gives this program of the reader's own. */
  words(program: string): string[] {
    const [, words = ''] = this.#next({}).trim().split(`${program} `);
    return words.split(' ');
  }

  /** Starts the next block in a terminal, where it can ask the user. */
  inTerminal(names: Names = {}): Terminal {
    return inTerminal(this.#home, ['sh', '-euc', this.#next(names)]);
  }

  /** The next block answers the question of this kind that waits. */
  async answer(kind: Question['kind']): Promise<Question> {
    const question = await questionOf(this.#home, kind);
    const [printed = 'an id'] = printedId.exec(this.#blocks[0] ?? '') ?? [];
    await this.run({ [printed]: question.id });
    return question;
  }

  #next(names: Names): string {
    const block = this.#blocks.shift();
    if (block === undefined) throw new Error(`${this.page.name} has no further block`);
    for (const printed of Object.keys(names))
      if (!block.includes(printed)) throw new Error(`"${printed}" isn't printed in:\n${block}`);
    const all = Object.entries({ ...this.#names, ...names });
    return all.reduce((text, [printed, real]) => text.replaceAll(printed, real), block);
  }
}
