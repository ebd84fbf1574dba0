/**
 * The card of a sign-in under way: which server and issuer, the code of another device, the address
 * that is pasted back.
 *
 * Invariant: the pasted address holds a code: it leaves the field with the call and is never shown again.
 */
import { useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { useApprovalDelay } from './base/approval-delay.ts';
import { ChangedNotice } from './base/consent-form.tsx';
import { useAction } from '../state/store.ts';
import { AddressFact, Facts, TextFact } from '../parts/facts.tsx';
import { Field, Form } from '../parts/field.tsx';
import { Address, UntrustedText, Host } from '../parts/untrusted-text.tsx';
import { Notice, Refused } from '../parts/notice.tsx';
import { strings } from '../base/strings.ts';
import type { Question } from '../base/views.ts';

const words = strings.signIn;

interface SignInCardProps {
  readonly question: Question;
  readonly onDone: () => void;
}

export function SignInCard({ question, onDone }: SignInCardProps) {
  const { id, kind, resource = '', issuer = '', account, formerIssuer, code = '', newClient } = question;
  const isDevice = kind === 'device';
  const action = useAction();
  const content = JSON.stringify(question);
  const canApprove = useApprovalDelay([id], content);
  // The main process opens it; the question stays until the sign-in ends.
  const openPage = () => action.run('request.answer', { id, answer: 'approve' }, words.opened);
  const callOff = async (): Promise<void> => {
    if (await action.run('request.answer', { id, answer: 'deny' }, words.cancelled)) onDone();
  };
  return (
    <div class="question">
      <h3>{isDevice ? words.titleDevice : words.titlePage.parts({ server: <Host url={resource} /> })}</h3>
      <ChangedNotice content={content} />
      {isDevice && <Code text={code} />}
      <div class="parties">
        <Facts>
          <AddressFact name={words.server} url={resource} />
          <AddressFact name={words.issuer} url={issuer} />
          <TextFact name={words.account} text={account} />
        </Facts>
      </div>
      {formerIssuer !== undefined && (
        <Notice kind="warn">
          {words.former} <Address url={formerIssuer} />
          <br />
          {words.formerWhat}
        </Notice>
      )}
      {newClient && <Notice kind="info">{words.newClient}</Notice>}
      {isDevice ? (
        <PageAddress url={question.url ?? ''} />
      ) : (
        <PageTrouble question={question} onDone={onDone} />
      )}
      <Refused refusal={action.refusal} />
      <footer>
        <div class="actions">
          <Button text={words.cancel} class="danger" onPress={callOff} />
          <button
            type="button"
            class="primary"
            disabled={!canApprove}
            onClick={(event) => {
              if (event.isTrusted && canApprove) void openPage();
            }}
          >
            {words.open}
          </button>
        </div>
      </footer>
    </div>
  );
}

function Code({ text }: { readonly text: string }) {
  return (
    <div class="digits">
      <p>{words.codeHint}</p>
      <p class="code">
        <UntrustedText text={text} />
      </p>
    </div>
  );
}

/** To copy by hand: a window opens no pages. Only http and https are addresses of pages. */
function PageAddress({ url }: { readonly url: string }) {
  const { protocol } = URL.parse(url) ?? {};
  if (protocol !== 'https:' && protocol !== 'http:') return null;
  return (
    <label class="field">
      <span>{words.page}</span>
      <input readOnly value={url} onFocus={(event) => event.currentTarget.select()} />
    </label>
  );
}

/** What helps if the page does not. */
function PageTrouble({ question: { id, url = '' }, onDone }: SignInCardProps) {
  const action = useAction();
  const tellError = () => action.run('signIn.answer', { id, isErrorPage: true }, words.errorPageTold);
  return (
    <details class="disclosure">
      <summary>{words.trouble}</summary>
      <PageAddress url={url} />
      <Paste id={id} onDone={onDone} />
      <Refused refusal={action.refusal} />
      <div class="actions">
        <Button text={words.errorPage} onPress={tellError} />
      </div>
    </details>
  );
}

function Paste({ id, onDone }: { readonly id: string; readonly onDone: () => void }) {
  const [address, set] = useState('');
  const action = useAction();
  const submit = async (): Promise<void> => {
    const redirect = address.trim();
    set('');
    if (redirect !== '' && (await action.run('signIn.answer', { id, redirect }, words.pasted))) onDone();
  };
  return (
    <Form onSubmit={submit}>
      <Field label={words.paste} type="password" value={address} onInput={set} />
      <Refused refusal={action.refusal} />
      <button type="submit">{words.pasteSubmit}</button>
    </Form>
  );
}
