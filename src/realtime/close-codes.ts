/** Why the service closes a socket. 1001 and 1009 are the protocol's own. */
export const CloseCode = {
  /** The service shuts down; connect again. */
  goingAway: 1001,
  /** A frame was larger than 64 KiB. */
  tooLarge: 1009,
  /** The service cannot go on with this socket just now; connect again. */
  tryAgainLater: 1013,
  /** The token was revoked, has expired, or its user is gone; get a new one first. */
  unauthorized: 4401,
  /** The account was suspended. */
  suspended: 4403,
  /** The workspace was deleted. */
  workspaceNotFound: 4404,
  /** The client does not read as fast as it is sent to; connect again and pull. */
  tooSlow: 4408,
  /** Over 30 messages in 10 s. */
  rateLimited: 4429,
} as const;

export type CloseCode = (typeof CloseCode)[keyof typeof CloseCode];
