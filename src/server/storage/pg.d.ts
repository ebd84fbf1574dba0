/** What we use of `pg`, which brings no types of its own. */
declare module 'pg' {
  export interface Result {
    readonly rows: readonly unknown[];
    readonly rowCount: number | null;
  }

  export class Pool {
    constructor(options: {
      readonly connectionString: string;
      /** Milliseconds. */
      readonly connectionTimeoutMillis: number;
      /** Milliseconds. */
      readonly query_timeout: number;
    });
    query(text: string, values?: readonly unknown[]): Promise<Result>;
    on(event: 'error', listener: (error: Error) => void): this;
    end(): Promise<void>;
  }

  const module: { readonly Pool: typeof Pool };
  export default module;
}
