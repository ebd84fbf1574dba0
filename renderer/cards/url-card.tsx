/**
 * The card of an address that an MCP server asks the user to open: where it leads, who asks, and the server's
 * words.
 *
 * Invariant: the host is alone and first, in the spelling that the browser gets. The server's words are shown
 * as untrusted text, after it.
 */
import { QuestionForm } from './base/consent-form.tsx';
import type { CardProps } from './base/consent-form.tsx';
import { AddressFact, Fact, Facts } from '../parts/facts.tsx';
import { Notice } from '../parts/notice.tsx';
import { UntrustedText, Host } from '../parts/untrusted-text.tsx';
import { RequestingApp } from './base/requesting-app.tsx';
import { strings } from '../base/strings.ts';

const words = strings.page;

export function UrlCard({ question, onDone }: CardProps) {
  const { url = '', resource = '', message = '' } = question;
  const site = <Host url={url} />;
  return (
    // The server is told that the user declined.
    <QuestionForm
      question={question}
      onDone={onDone}
      refusal="deny"
      words={{ ...words, title: <>{words.title.parts({ site })}</> }}
    >
      <div class="host">
        <p>{words.host}</p>
        <p class="host-name">{site}</p>
      </div>
      <div class="parties">
        <Facts>
          <AddressFact name={words.address} url={url} />
          <AddressFact name={words.server} url={resource} />
          <Fact name={words.message}>
            {message === '' ? words.noMessage : <UntrustedText text={message} />}
          </Fact>
        </Facts>
        <RequestingApp question={question} note={words.by} />
      </div>
      <Notice kind="warn">
        <p>{words.what}</p>
      </Notice>
    </QuestionForm>
  );
}
