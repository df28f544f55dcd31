import { OperatorError } from '../../config/index.js';
import type { S3Connection } from './s3-connection.js';
import type { S3Fault } from './s3-fault.js';

const SENTENCES: Record<string, (bucket: string) => string> = {
  InvalidAccessKeyId: () => 'does not know this S3_ACCESS_KEY; check it',
  SignatureDoesNotMatch: () => 'refuses this S3_SECRET_KEY; check it',
  AccessDenied: (bucket) => `does not allow this S3_ACCESS_KEY to use the bucket ${bucket}; grant it access`,
  NoSuchBucket: (bucket) => `has no bucket ${bucket}, and it could not be created; create it`,
  BucketAlreadyExists: (bucket) =>
    `has a bucket ${bucket} that belongs to somebody else; set S3_BUCKET to another name`,
  AuthorizationHeaderMalformed: () => 'expects another region; check S3_REGION',
  InvalidLocationConstraint: () => 'has no such region; check S3_REGION',
  PermanentRedirect: () => 'keeps this bucket in another region; check S3_REGION',
  MovedPermanently: () => 'keeps this bucket in another region; check S3_REGION',
  RequestTimeTooSkewed: () => 'has a different time than this machine; correct the clocks',
  QuotaExceeded: () => 'has no room left for this account; raise its quota',
};

/** What a fault of a whole store means, and what to do. */
export function explained(fault: S3Fault, { host, bucket }: S3Connection): OperatorError {
  const sentence =
    SENTENCES[fault.code]?.(bucket) ??
    (fault.isCurable
      ? `does not answer (${fault.code}); check that it runs and that S3_ENDPOINT points at it`
      : `refuses requests (${fault.code}); check the S3 variables`);
  return new OperatorError(`The S3 store at ${host} ${sentence}.`, { cause: fault });
}
