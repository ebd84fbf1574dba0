/**
 * The one spelling of an address that a card shows.
 *
 * Invariant: what a user reads names the host that would be reached: letters beyond ASCII are in their `xn--`
 * form, so that no name passes for another. It is for display: an issuer is compared as it was typed.
 */

/** As the URL parser writes it. A slash that was not typed isn't added; what is no URL stays as it is. */
export function spelled(url: string): string {
  const { href } = URL.parse(url) ?? { href: url };
  return href.endsWith('/') && !url.endsWith('/') ? href.slice(0, -1) : href;
}
