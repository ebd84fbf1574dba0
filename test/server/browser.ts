/** One user's side of the pages of authorization servers: cookies, redirects and forms, without a real browser. */
import { fetch, type Agent, type Response } from 'undici';
import { CookieJar } from '../../demo/user-agent.ts';

type Fields = Readonly<Record<string, string>>;

export interface Page {
  readonly status: number;
  readonly text: string;
  readonly url: string;
  readonly headers: Response['headers'];
}

/** Follows redirects of servers on this machine over https, and stops before any other address, or one that has `stop` in it. */
export class Browser {
  readonly jar = new CookieJar();
  readonly #dispatcher: Agent;
  /** The address before which it stopped. */
  sentTo = '';

  constructor(dispatcher: Agent) {
    this.#dispatcher = dispatcher;
  }

  async open(from: string, stop?: string, form?: Fields, headers: Fields = {}): Promise<Page> {
    this.sentTo = '';
    let url = from;
    let body = form;
    for (;;) {
      const cookie = this.jar.header(new URL(url));
      const answer = await fetch(url, {
        redirect: 'manual',
        dispatcher: this.#dispatcher,
        headers: { cookie, ...headers },
        ...(body ? { method: 'POST', body: new URLSearchParams(body) } : {}),
      });
      this.jar.keep(new URL(url), answer.headers.getSetCookie());
      const text = await answer.text();
      const location = answer.headers.get('location');
      if (location === null) return { status: answer.status, text, url, headers: answer.headers };
      url = new URL(location, url).href;
      body = undefined;
      if (!url.startsWith('https://127.0.0.1:') || (stop !== undefined && url.includes(stop))) {
        this.sentTo = url;
        return { status: answer.status, text, url, headers: answer.headers };
      }
    }
  }

  /** Sends the form of a page, with these fields. */
  async submit(page: Page, fields: Fields, stop?: string, headers: Fields = {}): Promise<Page> {
    const action = /<form[^>]*\saction="([^"]*)"/.exec(page.text)?.[1] ?? '';
    const hidden = page.text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g);
    const form = {
      ...Object.fromEntries([...hidden].map(([, name = '', value = '']) => [name, value])),
      ...fields,
    };
    return this.open(new URL(action, page.url).href, stop, form, {
      'sec-fetch-site': 'same-origin',
      ...headers,
    });
  }
}
