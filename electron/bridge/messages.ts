/** Names of what goes between a window and the main process; apart, so that preload brings no schemas along. */
export const callMessage = 'keyturn:call';
export const changeMessage = 'keyturn:change';

/** Begins the argument of a page's process that says its locale. */
export const localeArgument = '--keyturn-locale=';
