/** Response of a call that was open when its turn ended, where nobody gave another. */
export const CUT_OFF = 'this call was cut off by the end of its turn; it may have run';
