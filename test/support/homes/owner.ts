/**
 * What a test decides as the owner while its subject is something else: the broker is asked from the test's own
 * process, since a command would be a process each time. What a command itself does is tested by the command.
 */
import type { TestHome } from '../home.ts';
import { askBroker } from './ask-broker.ts';

/** A broker for the helpers below: they start none. It ends with the home. */
export async function startBroker(home: TestHome): Promise<void> {
  await home.start(['daemon']).says('the broker listens on');
}

export async function answer(home: TestHome, id: string, verdict: 'yes' | 'no' | 'later'): Promise<void> {
  await askBroker(home, 'interaction.answer', { id, answer: verdict });
}

/** Tokens of every scope, until the owner ends it. */
export async function allow(home: TestHome, client: string, resource: string): Promise<void> {
  await askBroker(home, 'permission.set', { client, resource, decision: 'allow' });
}

export async function deny(home: TestHome, client: string, resource: string): Promise<void> {
  await askBroker(home, 'permission.set', { client, resource, decision: 'deny' });
}

/** Signs in by the home's browser, where nothing of the command's own is looked at. */
export async function signIn(home: TestHome, resource: string): Promise<void> {
  await askBroker(home, 'login.start', { resource, timeout: 60 });
}

export async function nothingIsAsked(home: TestHome): Promise<boolean> {
  return (await askBroker(home, 'interaction.list', {})).interactions.length === 0;
}
