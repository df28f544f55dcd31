import { OperatorError } from '../config/index.js';
import { isConnectionLost, sqlState } from './database-errors.js';

const READ_ONLY =
  'PostgreSQL is read-only here (a standby, or default_transaction_read_only); point DATABASE_URL at the primary.';

/** By SQLSTATE. The server's own message names users, databases and addresses, but no password. */
const SENTENCES: Readonly<Record<string, (words: string) => string>> = {
  '28P01': () => REFUSED,
  '28000': (words) =>
    `PostgreSQL refused the connection (${words}); check DATABASE_URL and the server's pg_hba.conf.`,
  '53300': () => 'PostgreSQL has no free connection; raise its max_connections or lower DATABASE_POOL_SIZE.',
  '3D000': () => 'The database in DATABASE_URL does not exist; create it first.',
  '42501': (words) =>
    `The user of DATABASE_URL lacks privileges that the service needs (${words}); make it the owner of the database, or of a schema in its search_path.`,
  '3F000': (words) =>
    `The search_path of DATABASE_URL's user has no existing schema (${words}); create the schema first.`,
  '25006': () => READ_ONLY,
};

const TLS = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_UNTRUSTED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);
const NO_TLS = 'The server does not support SSL connections';

/** The driver's message when the server asks for a password and none is set. */
const NO_PASSWORD = /^SASL: .* client password must be/;

const REFUSED = 'PostgreSQL refused the user or password; check DATABASE_URL.';

export const readOnlyServerError = (): OperatorError => new OperatorError(READ_ONLY);

/** Explains a failed connection if the operator can fix it; otherwise returns the error unchanged. */
export function connectFault(error: unknown): unknown {
  const sentence = sentenceFor(error as NodeJS.ErrnoException);
  return sentence === undefined ? error : new OperatorError(sentence, { cause: error });
}

function sentenceFor(error: NodeJS.ErrnoException): string | undefined {
  const { code = '', syscall } = error;
  const sentence = SENTENCES[sqlState(error) ?? ''];
  if (sentence) return sentence(error.message);
  if (NO_PASSWORD.test(error.message)) return REFUSED;
  if (isConnectionLost(error) || code === 'ENOTFOUND' || syscall === 'connect')
    return 'PostgreSQL does not answer; check that it runs and that DATABASE_URL points at it.';
  if (TLS.has(code) || /^ERR_(?:OSSL|SSL)_/.test(code) || error.message === NO_TLS)
    return `A TLS connection to PostgreSQL cannot be established (${error.message}); check sslmode and sslrootcert in DATABASE_URL.`;
  if (syscall === 'open' || code === 'EISDIR')
    return `A file that DATABASE_URL names cannot be read (${error.message}).`;
  return undefined;
}
