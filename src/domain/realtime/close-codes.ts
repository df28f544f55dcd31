/** Reasons for the service to close a socket. 1001 and 1009 are defined by the protocol. */
export const CloseCode = {
  /** The service is shutting down; reconnect. */
  goingAway: 1001,
  /** A frame was larger than 64 KiB. */
  tooLarge: 1009,
  /** The service cannot continue with this socket at the moment; reconnect. */
  tryAgainLater: 1013,
  /** The token was revoked or has expired, or its user is gone; get a new token first. */
  unauthorized: 4401,
  /** The account was suspended. */
  suspended: 4403,
  /** The workspace was deleted. */
  workspaceNotFound: 4404,
  /** The client reads more slowly than it is sent to; reconnect and pull. */
  tooSlow: 4408,
  /** More than 30 messages in 10 s. */
  rateLimited: 4429,
} as const;

export type CloseCode = (typeof CloseCode)[keyof typeof CloseCode];
