"""The attribute attack: from releases and public columns to a guess at everybody's secret."""
