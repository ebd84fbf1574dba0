/** Names of the two messages between a window and the main process; apart, so that preload brings no schemas along. */
export const callMessage = 'keyturn:call';
export const changeMessage = 'keyturn:change';
