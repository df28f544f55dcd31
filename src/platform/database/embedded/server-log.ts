export type LogLevel = 'info' | 'warn' | 'error';

export type Log = (line: { level: LogLevel; message: string; [field: string]: unknown }) => void;

/** One log message of the server. */
export interface ServerMessage {
  readonly severity: string;
  /** The kind of process that wrote it, such as `client backend`; empty when unknown. */
  readonly process: string;
  /** SQLSTATE; empty when unknown. */
  readonly code: string;
  readonly text: string;
}

const LINE = /^(?:([^|]*)\|([^|]*)\|)?(DEBUG\d|LOG|INFO|NOTICE|WARNING|ERROR|FATAL|PANIC): +(.*)$/;

/** Parses one line, with or without the prefix from settings.ts. Anything else counts as a warning. */
export function readServerLine(line: string): ServerMessage {
  const match = LINE.exec(line);
  if (match === null) return { severity: 'WARNING', process: '', code: '', text: line };
  const [, process = '', code = '', severity = '', text = ''] = match;
  return { severity, process, code, text };
}

/** Whether another server, or the remains of one, holds the data directory; it may become free soon. */
export function isHeldByAnother({ code }: ServerMessage): boolean {
  return code === LOCK_FILE_EXISTS;
}

const LOCK_FILE_EXISTS = 'F0001';

/** Shutdown, crash of another backend, starting up: transient states that the supervisor reports itself. */
const PASSING = ['57P01', '57P02', '57P03', LOCK_FILE_EXISTS];

/** Lack of resources, system errors, internal errors: faults of the server, regardless of the client. */
const FAULT_CLASSES = ['53', '58', 'XX'];

/**
 * The level at which the service logs a message; undefined if it does not. Clients receive their own errors, and many of those
 * are normal (a lost race on a unique index), so for clients only faults of the server are logged.
 */
export function levelOf({ severity, process, code, text }: ServerMessage): LogLevel | undefined {
  if (severity === 'PANIC') return 'error';
  if (severity === 'WARNING') return 'warn';
  if (severity === 'LOG') return text.includes('was terminated by signal') ? 'warn' : undefined;
  if (severity !== 'ERROR' && severity !== 'FATAL') return undefined;
  if (PASSING.includes(code)) return undefined;
  if (process === 'client backend' && !FAULT_CLASSES.includes(code.slice(0, 2))) return undefined;
  return 'error';
}
