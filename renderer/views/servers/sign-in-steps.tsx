/** What the user has to do elsewhere for a sign-in: register a client at its provider, enter a code on another device. */
import { CopyText } from '../../parts/copy-text.tsx';
import { Notice } from '../../parts/notice.tsx';
import { Refused } from '../../parts/refused.tsx';
import { SignInCard } from '../../cards/sign-in-card.tsx';
import { sanitize } from '../../base/untrusted-text.ts';
import { useList } from '../../state/store.ts';
import { strings } from '../../base/strings.ts';
import type { ParamsOn, Refusal } from '../../base/views.ts';

/** The redirect URI in a hint that says how to sign in with a client registered by hand. */
export function redirectToRegister(refusal: Refusal | undefined): string | undefined {
  const [, redirectUri] = / redirect URI (http:\S+)\. Then: /.exec(refusal?.hint ?? '') ?? [];
  return redirectUri;
}

/** The hint names a command; here the fields below do the same. */
export function RefusedSignIn({ refusal }: { readonly refusal: Refusal | undefined }) {
  const redirectUri = redirectToRegister(refusal);
  if (refusal === undefined || redirectUri === undefined) return <Refused refusal={refusal} />;
  const { hint: _, ...rest } = refusal;
  return (
    <>
      <Refused refusal={rest} />
      <Notice kind="info">
        <p>{strings.signInOptions.register}</p>
        <CopyText text={sanitize(redirectUri).text} />
      </Notice>
    </>
  );
}

/** What two spellings of one server's URL share. */
function placeOf(url: string): string | undefined {
  const parsed = URL.parse(url);
  return parsed ? parsed.origin + parsed.pathname : undefined;
}

/** Shown while the sign-in waits. */
export function UnderWay({ of: { resource, clientId, method } }: { readonly of: ParamsOn<'signIn.start'> }) {
  const registrations = useList('oauthClient.list').value?.oauthClients ?? [];
  const questions = useList('request.list').value?.requests ?? [];
  if (method === 'device') {
    const code = questions.find(
      (one) => one.kind === 'device' && placeOf(one.resource ?? '') === placeOf(resource),
    );
    return code ? <SignInCard question={code} onDone={() => undefined} /> : null;
  }
  const redirectUri = registrations.findLast(
    (one) => one.source === 'preregistered' && one.clientId === clientId,
  )?.redirectUri;
  if (redirectUri === undefined) return null;
  return (
    <Notice kind="info">
      <p>{strings.signInOptions.isRegistered}</p>
      <CopyText text={sanitize(redirectUri).text} />
    </Notice>
  );
}
