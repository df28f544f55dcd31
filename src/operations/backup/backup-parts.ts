/** The files of one backup, in a directory or in a bucket. Paths are relative, with slashes. */
export abstract class BackupParts {
  /** As the operator names the backup. */
  abstract readonly name: string;

  /** Prepares it for a new backup. @throws OperatorError when it is not empty */
  abstract begin(): Promise<void>;

  /**
   * Writes a part, which is not there when reading the chunks fails.
   * @param size in bytes, where it is known
   */
  abstract write(path: string, chunks: AsyncIterable<Buffer>, size?: number): Promise<void>;

  /** Writes the part that completes the backup: after a crash, all others are there if it is. */
  abstract complete(path: string, text: string): Promise<void>;

  /** Opened on first read. Fails with an error whose `code` says what is wrong. */
  abstract read(path: string): AsyncIterable<Buffer>;

  /** Releases connections. */
  abstract close(): void;
}
