export const command = { help: '', run: () => Promise.resolve(0) };
