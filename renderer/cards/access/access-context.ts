/**
 * What the card for access says and offers beyond the questions themselves: it depends on lists that change.
 *
 * Invariant: there is no offer before every list that it rests on was read: a list that can't be read is
 * not an empty one. It holds only what the card shows, so that nothing else counts as a change of it.
 */
import type { Questions } from '../../base/cards.ts';
import { defaultChoice, endpointIn, durationChoices, currentPermission } from './duration-choices.ts';
import type { DurationChoice } from './duration-choices.ts';
import { useList } from '../../state/store.ts';
import type { PairedApp, Permission, Refusal } from '../../base/views.ts';

/** What is to be known of one question's server. */
export interface ServerContext {
  /** What the app may do there already. */
  readonly permission: Permission | undefined;
  readonly issuers: readonly string[];
}

export interface AccessContext {
  /** The paired app of that name; undefined where the name tells nobody. */
  readonly pairedApp: Pick<PairedApp, 'appId' | 'executable'> | undefined;
  /** Of each question, in their order. */
  readonly servers: readonly ServerContext[];
  /** What every one of the questions can be given. */
  readonly durations: readonly DurationChoice[];
  /** What is chosen before the user chose. */
  readonly first: DurationChoice;
}

/** Until the lists were read. */
export const emptyContext: AccessContext = {
  pairedApp: undefined,
  servers: [],
  durations: [],
  first: 'hour',
};

/** `refusal`: of a list that can't be read. */
export function useAccessContext(questions: Questions): {
  readonly context?: AccessContext;
  readonly refusal?: Refusal | undefined;
} {
  const clients = useList('app.list');
  const settings = useList('settings.get');
  const signIns = useList('signIn.list');
  if (!clients.value || !settings.value || !signIns.value) {
    return { refusal: clients.refusal ?? settings.refusal ?? signIns.refusal };
  }
  const known = signIns.value.signIns;
  const named = clients.value.apps.filter(({ name }) => name === questions[0].app);
  const pairedApp = named.length === 1 ? named[0] : undefined;
  const servers = questions.map((question) => {
    const there = known
      .filter(({ endpoint }) => endpoint === endpointIn(question.resource))
      .map((signIn) => signIn.issuer);
    return {
      permission: currentPermission(question, pairedApp),
      issuers: question.issuer === undefined ? [...new Set(there)] : [question.issuer],
    };
  });
  const durations = durationChoices(
    questions[0],
    servers.map(({ permission }) => permission),
  );
  return {
    context: {
      pairedApp: pairedApp && { appId: pairedApp.appId, executable: pairedApp.executable },
      servers,
      durations,
      first: defaultChoice(durations, settings.value.settings['defaultDuration']),
    },
  };
}
