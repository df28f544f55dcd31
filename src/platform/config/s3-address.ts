/** A place in an S3 store. */
export interface S3Address {
  readonly bucket: string;
  /** Of the keys; without slashes at its ends, empty for the whole bucket. */
  readonly prefix: string;
}

const ADDRESS =
  /^s3:\/\/(?<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(?<prefix>[\w.-]+(?:\/[\w.-]+)*))?\/?$/;

/** Whether a place is meant to be in an S3 store, and not a directory. */
export const isInS3 = (place: string): boolean => /^s3:/i.test(place);

/** Parses `s3://bucket/prefix`. @returns undefined when it is malformed */
export function s3Address(place: string): S3Address | undefined {
  const { bucket, prefix = '' } = ADDRESS.exec(place)?.groups ?? {};
  return bucket === undefined || /(?:^|\/)\.{1,2}(?:\/|$)/.test(prefix) ? undefined : { bucket, prefix };
}
