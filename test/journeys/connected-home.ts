/**
 * A home as its user left it: its settings confirmed, and apps connected, perhaps with access. The broker's own code
 * writes everything, and has stopped before the app starts.
 */
import { connect } from '../../src/client/index.ts';
import type { TestHome } from '../support/home.ts';
import { openDesk, pairAt } from '../support/homes/desk-home.ts';

/** What an app may reach, and how its user signs in there. */
export interface Access {
  readonly resource: string;
  readonly signIn: (url: string) => Promise<unknown>;
}

/** Connects apps in a new home, allows each its access, and signs in there. Answers their tokens. */
export async function signInFor(
  home: TestHome,
  apps: Readonly<Record<string, Access | undefined>>,
): Promise<string[]> {
  let signIn: Access['signIn'] | undefined;
  const ends: (() => void | Promise<void>)[] = [];
  const desk = await openDesk(home, {
    visit: async (url) => signIn?.(url),
    atEnd: (end) => void ends.unshift(end),
  });
  const tokens: string[] = [];
  try {
    for (const [name, access] of Object.entries(apps)) {
      await pairAt(desk, name);
      if (access === undefined) continue;
      ({ signIn } = access);
      const program = await connect({ name, env: home.env });
      ends.unshift(() => program.close());
      const asking = program.getToken({ resource: access.resource, interaction: 'allow' });
      await desk.answer((await desk.card()).id, 'approve');
      tokens.push((await asking).access_token);
    }
  } finally {
    for (const end of ends) await end();
  }
  return tokens;
}
