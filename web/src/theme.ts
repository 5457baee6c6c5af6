/** The component library in our colours: the same as in `styles.css`. */
import type { GlobalThemeOverrides } from 'naive-ui'

export function overrides(dark: boolean): GlobalThemeOverrides {
  const accent = dark ? '#8db8e2' : '#2f5d8a'
  return {
    common: {
      primaryColor: accent,
      primaryColorHover: dark ? '#a9caea' : '#3d72a6',
      primaryColorPressed: dark ? '#76a6d6' : '#24496d',
      primaryColorSuppl: accent,
      errorColor: dark ? '#ff8a80' : '#b3261e',
      warningColor: dark ? '#f0b95b' : '#8f5a00',
      successColor: dark ? '#6fcf97' : '#1f7a45',
      placeholderColor: dark ? '#8b97a4' : '#5d6976',
      borderRadius: '8px',
      fontFamily: 'inherit',
    },
  }
}
